"""The allauth pages that the back office uses; there are no others.

Some of them would store what an anonymous visitor sends until sign-in. Here they require sign-in first.
"""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.contrib.auth.decorators import login_required
from django.urls import path
from django.views.decorators.http import require_POST

urlpatterns = [
    path("sign-in/", account.login, name="account_login"),
    path("sign-in/passkey/", webauthn.login_webauthn, name="mfa_login_webauthn"),
    path("sign-in/second-factor/", mfa.authenticate, name="mfa_authenticate"),
    path("sign-in/cancel/", require_POST(account.logout), name="account_logout"),
    path("again/", login_required(account.reauthenticate), name="account_reauthenticate"),
    path("again/code/", login_required(mfa.reauthenticate), name="mfa_reauthenticate"),
    path("again/passkey/", login_required(webauthn.reauthenticate_webauthn), name="mfa_reauthenticate_webauthn"),
    path("password/", login_required(account.password_change), name="account_change_password"),
    path("password/first/", login_required(account.password_set), name="account_set_password"),
    path("", login_required(mfa.index), name="mfa_index"),
    path("app/add/", login_required(totp.activate_totp), name="mfa_activate_totp"),
    path("app/remove/", login_required(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("codes/", login_required(codes.view_recovery_codes), name="mfa_view_recovery_codes"),
    path("codes/renew/", login_required(codes.generate_recovery_codes), name="mfa_generate_recovery_codes"),
    path("passkeys/", login_required(webauthn.list_webauthn), name="mfa_list_webauthn"),
    path("passkeys/add/", login_required(webauthn.add_webauthn), name="mfa_add_webauthn"),
    path("passkeys/<int:pk>/rename/", login_required(webauthn.edit_webauthn), name="mfa_edit_webauthn"),
    path("passkeys/<int:pk>/remove/", login_required(webauthn.remove_webauthn), name="mfa_remove_webauthn"),
]

"""Every page of the back office, found from the addresses themselves, and what each needs to be tried."""

from collections.abc import Callable, Iterator
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from categories.models import Category
from pets.models import ImportRun, Pet
from petstore_site.apikeys.models import APIKey
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import PASSWORD

MADE: dict[type[Model], Callable[[], Any]] = {
    Pet: PetFactory,
    Category: CategoryFactory,
    APIKey: APIKeyFactory,
    ImportRun: lambda: ImportRun.objects.create(
        who="test", file_name="a.csv", sha256="0" * 64, options={}, state="done"
    ),
    User: lambda: User.objects.create_user(f"user {User.objects.count()}", is_staff=True),
    Group: lambda: Group.objects.create(name=f"role {Group.objects.count()}"),
}
"""How a row to try the pages of a model with is made."""

OWN = ("account_", "mfa_")
"""How the names of the pages about the own sign-in begin."""

QUERIES = {"autocomplete": {"app_label": "pets", "model_name": "pet", "field_name": "category", "term": ""}}
"""What a page must be asked with to show something."""

DELETE_ALL = {"action": "delete_selected", "post": "yes"}
DELETE = {"post": "yes"}


def forms() -> dict[str, dict[str, Any]]:
    """Return a form that changes something → for each page that has one; rows that it names exist."""
    return {
        "logout": {},
        "account_logout": {},
        "account_change_password": {
            "oldpassword": PASSWORD, "password1": "a quiet purple giraffe", "password2": "a quiet purple giraffe",
        },
        "mfa_generate_recovery_codes": {},
        "mfa_deactivate_totp": {},
        "mfa_edit_webauthn": {"name": "Key"},
        "mfa_remove_webauthn": {},
        "pets_pet_add": {"name": "Forged", "category": CategoryFactory().pk, "status": "sold"},
        "pets_pet_change": {"name": "Forged", "category": CategoryFactory().pk, "status": "sold"},
        "pets_pet_delete": DELETE,
        "pets_pet_changelist": DELETE_ALL | {"_selected_action": PetFactory().pk},
        "categories_category_add": {"name": "Forged"},
        "categories_category_change": {"name": "Forged"},
        "categories_category_delete": DELETE,
        "categories_category_changelist": DELETE_ALL | {"_selected_action": CategoryFactory().pk},
        "apikeys_apikey_add": {"name": "Forged", "scope": "write"},
        "apikeys_apikey_change": {"name": "Forged"},
        "apikeys_apikey_rotate": {"grace_hours": 1},
        "apikeys_apikey_revoke": {},
        "apikeys_apikey_delete": DELETE,
        "apikeys_apikey_changelist": DELETE_ALL | {"_selected_action": APIKeyFactory().pk},
        "auth_user_add": {"username": "forged"},
        "auth_user_change": {"username": "forged", "is_superuser": "on"},
        "auth_user_password_change": {"remove_second_factors": "on"},
        "auth_user_delete": DELETE,
        "auth_user_changelist": DELETE_ALL | {"_selected_action": MADE[User]().pk},
        "auth_group_add": {"name": "Forged"},
        "auth_group_change": {"name": "Forged"},
        "auth_group_delete": DELETE,
        "auth_group_changelist": DELETE_ALL | {"_selected_action": MADE[Group]().pk},
    }  # fmt: skip


def pages() -> dict[str, list[str]]:
    """Return the name of each page → the arguments in its address; addresses without a name only lead elsewhere."""
    back_office = next(each for each in get_resolver().url_patterns if str(each.pattern) == "admin/")
    own_sign_in = next(each for each in get_resolver().url_patterns if str(each.pattern) == "admin/account/")
    return dict(_named(back_office)) | dict(_named(own_sign_in))


def _named(addresses: Any) -> Iterator[tuple[str, list[str]]]:
    for each in addresses.url_patterns:
        if isinstance(each, URLResolver):
            yield from _named(each)
        elif isinstance(each, URLPattern) and each.name:
            yield each.name, list(each.pattern.regex.groupindex) or ["nameless"] * each.pattern.regex.groups


def address(page: str, user: User | None) -> str:
    """Return an address of the page, about a row that exists and that the user, if it is theirs to have, has."""
    name, query = page if page.startswith(OWN) else f"admin:{page}", QUERIES.get(page)
    if page.endswith("_simple_history"):
        row = MADE[_model_of(page)]()
        return reverse(name, args=[row.pk, row.history.latest().pk], query=query)
    return reverse(name, kwargs={each: _argument(page, each, user) for each in pages()[page]}, query=query)


def _argument(page: str, name: str, user: User | None) -> Any:
    if name == "pk":
        return _passkey(user) if user else 0
    fixed = {"app_label": "pets", "content_type_id": 1}
    return fixed[name] if name in fixed else 1 if page == "view_on_site" else MADE[_model_of(page)]().pk


def _model_of(page: str) -> type[Model]:
    """Return the model whose page it is; `StopIteration` says that it is none of a model."""
    names = {f"{model._meta.app_label}_{model._meta.model_name}_": model for model in admin.site._registry}
    return next(model for name, model in names.items() if page.startswith(name))


def _passkey(user: User) -> int:
    passkey = Authenticator(user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "Phone", "credential": {}})
    passkey.save()
    return int(passkey.pk)


def rows() -> dict[str, Any]:
    """Return everything that a form could make, change or end."""
    kept = [*admin.site._registry, Authenticator]
    stored = {model.__name__: list(model.objects.order_by("pk").values()) for model in kept}
    return stored | {"sessions": Session.objects.count()}

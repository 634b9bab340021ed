"""The back office: Django's admin under the store's name."""

from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator


class BackOffice(AdminSite):
    """The admin site; `PetstoreAdminConfig` makes it the default."""

    site_header = "Pet Store back office"
    site_title = "Pet Store back office"
    index_title = "Overview"

    @method_decorator(secure_admin_login)
    def login(self, _request: HttpRequest, _extra_context: Any = None) -> HttpResponse:
        """Redirect a signed-in user. Django's own form, which does not count failures, is never shown."""
        return HttpResponseRedirect(reverse("admin:index"))

    def password_change(self, *_given: Any) -> HttpResponse:  # type: ignore[override]  # Django: a TemplateResponse
        return HttpResponseRedirect(reverse("account_change_password"))

    def password_change_done(self, *_given: Any, **_context: Any) -> HttpResponse:  # type: ignore[override]  # as above
        """Redirect to the page of the own sign-in: no page of ours leads here."""
        return HttpResponseRedirect(reverse("mfa_index"))

    def app_index(self, *_given: Any, **_context: Any) -> HttpResponse:  # type: ignore[override]  # as above
        """Redirect to the overview: the navigation is by task, and no page of ours leads here."""
        return HttpResponseRedirect(reverse("admin:index"))

    def get_urls(self) -> list[Any]:
        from changes.admin import activity, merging  # noqa: PLC0415 - they need the models
        from petstore_site.apikeys.admin.use import usage  # noqa: PLC0415 - as above
        from petstore_site.back_office.search import everything  # noqa: PLC0415 - as above
        from petstore_site.back_office.team import team  # noqa: PLC0415 - as above

        return [
            path("search/", self.admin_view(everything), name="search"),
            path("categories/category/merge/", self.admin_view(merging.merge), name="categories_category_merge"),
            path("activity/team/", self.admin_view(team), name="activity_team"),
            path("apikeys/keyusage/", self.admin_view(usage), name="apikeys_keyusage_changelist"),
            *activity.urls(self.admin_view),
            *super().get_urls(),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        from changes.admin.notices import report_ended  # noqa: PLC0415 - as above

        report_ended(request)
        return super().each_context(request)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        from petstore_site.back_office.dashboard.panels import parts_for  # noqa: PLC0415 - it needs the models

        parts = parts_for(request.user)
        is_first_run = parts["stock"] is not None and not parts["stock"]["all"].value
        return super().index(request, parts | {"is_first_run": is_first_run} | (extra_context or {}))

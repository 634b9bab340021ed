"""Lists are filtered by what they declare, and by nothing else: a look-up could guess a stored secret."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from pets.models import ImportRun

admin.autodiscover()
LISTS = [model._meta for model in admin.site._registry if model is not ImportRun]
"""Imports are listed in Activity."""


@pytest.mark.parametrize("options", LISTS, ids=str)
def test_no_undeclared_look_up_filters(staff: Client, options: object) -> None:
    address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")  # type: ignore[attr-defined]
    columns = [field.name for field in options.fields]  # type: ignore[attr-defined]
    tried = {f"{column}__{lookup}" for column in columns for lookup in ("startswith", "contains", "regex")}
    related = {"created_by__password__startswith", "user__password__startswith", "key__digest__startswith"}
    tried |= {lookup for lookup in related if lookup.split("__")[0] in {field.name for field in options.get_fields()}}  # type: ignore[attr-defined]
    assert {lookup: staff.get(address, {lookup: "a"}).status_code for lookup in tried} == dict.fromkeys(tried, 400)


@pytest.mark.parametrize("options", LISTS, ids=str)
def test_a_parameter_of_others_is_ignored(staff: Client, options: object, caplog: pytest.LogCaptureFixture) -> None:
    address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")  # type: ignore[attr-defined]
    plain, linked = staff.get(address), staff.get(address, {"utm_source": "mail", "utm__id__exact": "1"})
    assert (linked.status_code, linked.template_name) == (200, plain.template_name)  # type: ignore[attr-defined]
    assert "utm_source" not in linked.content.decode()
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


@pytest.mark.parametrize("options", LISTS, ids=str)
def test_a_forged_selection_is_a_bad_request(staff: Client, options: object) -> None:
    address = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")  # type: ignore[attr-defined]
    forged = {"action": "delete_selected", "_selected_action": "x", "index": "0"}
    assert staff.post(address, forged).status_code in {200, 400}  # 200 of a list without actions


TOO_LARGE = "9" * 25


@pytest.mark.parametrize(
    "address",
    [
        f"activity/i{TOO_LARGE}/",
        f"activity/?kind=import&day_from=0001-01-01&before={TOO_LARGE}",
    ],
)
def test_what_no_database_or_calendar_has_is_no_error_of_ours(staff: Client, address: str) -> None:
    assert staff.get(f"/admin/{address}").status_code in {200, 302, 400, 404}

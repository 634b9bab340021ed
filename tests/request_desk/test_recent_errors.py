"""The page of a key lists the key's recent errors."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk import records
from petstore_site.back_office.request_desk.models import KEPT, RequestRecord
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory
from tests.pets.office import member

pytestmark = pytest.mark.django_db


def shown(client: Client, key: APIKey) -> str:
    return client.get(f"/admin/apikeys/apikey/{key.pk}/change/").content.decode()


def test_an_error_leads_to_the_desk_and_the_list(admin_client: Client) -> None:
    key, other = APIKeyFactory(), APIKeyFactory()
    ApiClient(key.secret).post("/v1/pets", {}, X_Request_ID="complaint-1")
    ApiClient(other.secret).post("/v1/pets", {}, X_Request_ID="complaint-2")
    records.flush()
    page = shown(admin_client, key)
    said = '<span class="status-code status-4">400</span><div><p>name is required. categoryId is required.</p>'
    assert said in page
    desk = "/admin/request_desk/requestrecord/desk/?request_id=complaint-1"
    assert f'<a class="mono" title="complaint-1" href="{desk}">' in page
    assert f'href="/admin/request_desk/requestrecord/?kind=all&amp;key__id__exact={key.pk}">' in page
    assert "complaint-2" not in page


def test_only_as_long_as_records_are_kept(admin_client: Client) -> None:
    key = APIKeyFactory()
    for request_id, age in (("too-old", KEPT), ("recent", KEPT - timedelta(minutes=1))):
        RequestRecord.objects.create(
            request_id=request_id, key=key, at=timezone.now() - age, method="GET", status=400, milliseconds=1
        )
    page = shown(admin_client, key)
    assert (">recent</a>" in page, "too-old" in page) == (True, False)


def test_a_key_without_errors(admin_client: Client) -> None:
    assert "No request with this key failed in the last 7 days." in shown(admin_client, APIKeyFactory())


@pytest.mark.parametrize(
    ("permissions", "expected"), [(["view_apikey"], False), (["view_apikey", "view_requestrecord"], True)]
)
def test_need_the_permission_to_view_requests(permissions: list[str], expected: bool) -> None:
    page = shown(member("viewer", *permissions), APIKeyFactory())
    assert ("Use in the last 30 days" in page, "Recent errors" in page) == (True, expected)

"""History of keys: every change through every way in, with who made it, and never with a secret."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from history.acting import begin_command
from petstore_site.apikeys import usage
from petstore_site.apikeys.models import APIKey
from tests.apikeys.office import KEPT, NEW
from tests.conftest import ApiClient
from tests.days import written
from tests.factories import APIKeyFactory
from tests.pets.office import history_told, told
from tests.server import manage, migrated_database

pytestmark = pytest.mark.django_db

LIST = "/admin/apikeys/apikey/"
DAY = timedelta(days=1)


def changes(key: APIKey) -> list[tuple[str, str]]:
    """Return the kind of each change and who made it, the first one first."""
    return [*key.history.order_by("history_id").values_list("history_type", "actor")]


def last(key: APIKey) -> Any:
    return key.history.order_by("-history_id")[0]


class TestBackOffice:
    def test_issue_edit_rotate_and_revoke_are_kept(self, admin_client: Client) -> None:
        admin_client.post(f"{LIST}add/", NEW)
        key = APIKey.objects.get()
        edited = {**KEPT, "name": "New", "seen": last(key).pk}
        admin_client.post(f"{LIST}{key.pk}/change/", edited)
        assert last(key).name == "New"
        admin_client.post(f"{LIST}{key.pk}/rotate/", {"grace_hours": "1"})
        key.refresh_from_db()
        assert (last(key).replaced_by_id, last(key).expires_at) == (key.replaced_by_id, key.expires_at)
        admin_client.post(f"{LIST}{key.pk}/revoke/")
        key.refresh_from_db()
        assert (last(key).revoked_at, key.revoked_at is None) == (key.revoked_at, False)
        assert changes(key) == [("+", "staff admin"), *[("~", "staff admin")] * 3]
        assert changes(APIKey.objects.latest("pk")) == [("+", "staff admin")]

    def test_the_edit_of_a_key_that_ends_within_a_second_can_be_undone(self, admin_client: Client) -> None:
        ends = (timezone.now() + DAY).replace(microsecond=123_456)
        key = APIKeyFactory(name="Shop", expires_at=ends)
        shown = {"seen": last(key).pk}
        admin_client.post(f"{LIST}{key.pk}/change/", {**KEPT, **shown, "name": "New"})
        assert (last(key).name, last(key).expires_at) == ("New", ends)
        done = admin_client.post(f"{LIST}{key.pk}/undo/{last(key).pk}/", follow=True)
        named = [f"“New ({key.key_id})” was saved.", f"“Shop ({key.key_id})” has the former name again."]
        assert told(done) == named

    def test_tells_the_request(self, admin_client: Client) -> None:
        admin_client.post(f"{LIST}add/", NEW, headers={"X-Request-ID": "by-the-desk"})
        assert last(APIKey.objects.get()).request_id == "by-the-desk"

    def test_what_changes_nothing_leaves_nothing(self, admin_client: Client) -> None:
        key = APIKeyFactory(name="Shop")
        admin_client.post(f"{LIST}{key.pk}/change/", KEPT)
        admin_client.post(f"{LIST}{key.pk}/change/", {"name": ""})
        assert changes(key) == [("+", "")]

    def test_the_page_tells_what_was_before_and_after(self, admin_client: Client) -> None:
        key = APIKeyFactory(name="Shop")
        new, _ = key.rotate(grace=DAY)
        key.revoke()
        [[revoked, rotated, issued]] = history_told(admin_client, f"{LIST}{key.pk}/").values()
        expires_at, revoked_at = (f"{written(at)}, {at:%H:%M}" for at in (key.expires_at, key.revoked_at) if at)
        assert [row[1] for row in (revoked, rotated, issued)] == [
            f"Revoked at \N{EN DASH} becomes {revoked_at}",
            f"Expires at \N{EN DASH} becomes {expires_at} Replaced by \N{EN DASH} becomes Shop ({new.key_id})",
            "Added",
        ]
        assert issued[0] == "a command or script"

    def test_an_old_state_is_shown_and_never_written(self, admin_client: Client) -> None:
        key = APIKeyFactory(name="Before")
        first = last(key)
        APIKey.objects.get().rotate(grace=DAY)
        page = f"{LIST}{key.pk}/history/{first.pk}/"
        before = [*APIKey.objects.order_by("pk").values()]
        assert "Before" in admin_client.get(page).content.decode()
        edited = KEPT
        assert admin_client.post(page, edited).status_code == 302  # back to it: the form did not say what it had seen
        assert [*APIKey.objects.order_by("pk").values()] == before


class TestCommands:
    def test_each_is_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        def run(*arguments: str) -> str:
            begin_command(["manage.py", *arguments])
            call_command(*arguments)
            return capsys.readouterr().out

        key_id = run("issue_api_key", "Shop", "--expires-in", "1d", "--secret-only")[10:18]
        run("rotate_api_key", key_id)
        run("issue_api_key", "Depot", "--expires-in", "1d")
        run("rotate_api_keys", "--expiring-within", "2d")
        run("revoke_api_key", key_id)
        rows = APIKey.history.order_by("history_id").values_list("history_type", "actor")
        assert [(kind, actor.partition(" by ")[0]) for kind, actor in rows] == [
            ("+", "command issue_api_key"),
            ("+", "command rotate_api_key"),
            ("~", "command rotate_api_key"),
            ("+", "command issue_api_key"),
            ("+", "command rotate_api_keys"),
            ("~", "command rotate_api_keys"),
            ("~", "command revoke_api_key"),
        ]

    @pytest.mark.slow
    def test_manage_py_names_them(self) -> None:
        """Without the database of the tests."""
        with migrated_database() as url:
            environment = {"DATABASE_URL": url, "PETSTORE_SERVING": "", "PATH": ""}
            manage(environment, "issue_api_key", "Shop", "--expires-in", "1d")
            told = "from petstore_site.apikeys.models import APIKey; print(APIKey.history.get().actor)"
            actor = manage(environment, "shell", "--verbosity=0", "--command", told)
        assert actor.startswith("command issue_api_key by ")


class TestWhatIsLeftOut:
    def test_use_is_no_change(self) -> None:
        key = APIKeyFactory()
        ApiClient(key.secret).get("/v1/pets")
        usage.flush()
        assert APIKey.objects.get().last_used_at is not None
        assert changes(key) == [("+", "")]

    def test_secrets_and_digests(self) -> None:
        key = APIKeyFactory()
        new, secret = key.rotate(grace=DAY)
        rows = str([*APIKey.history.values()])
        for hidden in (secret[18:50], key.secret[18:50], key.digest, new.digest):
            assert hidden not in rows

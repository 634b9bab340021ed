"""The commands for API keys: what they print, change and reject."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey
from tests.factories import APIKeyFactory
from tests.running import run, run_json

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
DURATION = "must be such as 30min, 24h, 90d or 2w, and at most 36500d."
KEY_ID = "must be the 8-character key ID that list_api_keys shows, never the whole key."
MONTH = "1m may be minutes or months. Write 1min, or months in days or weeks, such as 30d."
RATE = "A rate limit must be N/s, N/min, N/h or N/day with N from 1 to 1000000, as in 600/min."


def rejection(*arguments: str) -> str:
    """Return the sentence, after checking that nothing was changed or printed."""
    before, out = list(APIKey.objects.order_by("pk").values()), StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(*arguments, stdout=out)
    assert (out.getvalue(), list(APIKey.objects.order_by("pk").values())) == ("", before)
    assert caught.value.returncode != 0
    return str(caught.value)


def minute(at: Any) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def replaced(old: APIKey) -> APIKey:
    """Return the key that replaced it, both as they are stored."""
    old.refresh_from_db()
    assert old.replaced_by is not None
    return old.replaced_by


def shown(key: APIKey, /, **more: Any) -> dict[str, Any]:
    """Return the JSON of a key, written down once more from the documentation."""

    def iso(at: Any) -> Any:
        return at and at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return {
        "key_id": key.key_id,
        "name": key.name,
        "contact": key.contact,
        "scope": key.scope,
        "rate_limit": key.rate_limit,
        "state": key.state.value,
        "created_at": iso(key.created_at),
        "expires_at": iso(key.expires_at),
        "last_used_at": iso(key.last_used_at),
        "revoked_at": iso(key.revoked_at),
        "replaced_by": key.replaced_by.key_id if key.replaced_by else None,
        **more,
    }


class TestIssue:
    def test_sentences(self) -> None:
        out = run("issue_api_key", "Shop front")
        key = APIKey.objects.get()
        secret = out.splitlines()[2].strip()
        assert keys.digest(secret) == key.digest
        assert out == (
            f'Issued key {key.key_id} for "Shop front": scope write, expires never.\n\n'
            f"    {secret}\n\n"
            "Copy it now. You won't see it again.\n"
        )

    def test_secret_only(self) -> None:
        out = run("issue_api_key", "Shop", "--secret-only")
        assert out.endswith("\n")
        assert keys.digest(out.removesuffix("\n")) == APIKey.objects.get().digest

    def test_json_with_every_option(self) -> None:
        options = ["--scope", "read", "--expires-in", "90d", "--rate-limit", "600/min", "--contact", "shop@example.com"]
        before, out = timezone.now(), run_json("issue_api_key", "Shop", *options)
        key = APIKey.objects.get()
        assert keys.digest(out["key"]) == key.digest
        assert out == shown(key, key=out["key"])
        assert (key.scope, key.rate_limit, key.contact) == ("read", "600/min", "shop@example.com")
        assert key.expires_at is not None
        assert before <= key.expires_at - 90 * DAY <= timezone.now()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ([], "Error: the following arguments are required: NAME"),
            ([""], "argument NAME: This field cannot be blank."),
            *[
                ([name], "argument NAME: This must be one line of visible text.")
                for name in (" ", "a\nb", "\x1b[31mred", "nul\x00", "lone \udcff")
            ],
            (["x" * 101], "argument NAME: Ensure this value has at most 100 characters (it has 101)."),
            *[
                (["Shop", f"--expires-in={text}"], f"Error: argument --expires-in: {DURATION}")
                for text in ("", "0d", "-1d", "1.5h", "90 d", "90d\n", "\u0663d", "01d", "36501d", "9" * 5000 + "d")
            ],
            *[
                (["Shop", f"--rate-limit={text}"], f"argument --rate-limit: {RATE}")
                for text in ("fast", "0/min", "01/s", "1000001/day", "1/m", "1 /s", "1/s\n", "\u0663/s")
            ],
            (
                ["", "--rate-limit", "fast"],
                f"argument NAME: This field cannot be blank.\nargument --rate-limit: {RATE}",
            ),
            (["Shop", "--contact", "a\nb"], "argument --contact: This must be one line of visible text."),
            (["Shop", "--expires-in", "1m"], f"Error: argument --expires-in: {MONTH}"),
            (["Shop", "--json", "--secret-only"], "Error: argument --secret-only: not allowed with argument --json"),
        ],
    )
    def test_rejects(self, arguments: list[str], sentence: str) -> None:
        assert rejection("issue_api_key", *arguments) == sentence

    def test_rejects_another_scope(self) -> None:
        assert "argument --scope: invalid choice: 'admin'" in rejection("issue_api_key", "Shop", "--scope", "admin")


class TestRotateOne:
    def test_sentences(self) -> None:
        old, before = APIKeyFactory(name="Shop"), timezone.now()
        out = run("rotate_api_key", old.key_id, "--grace", "2h")
        new = replaced(old)
        assert old.expires_at is not None
        assert before <= old.expires_at - timedelta(hours=2) <= timezone.now()
        secret = out.splitlines()[2].strip()
        assert keys.digest(secret) == new.digest
        assert out == (
            f'Issued key {new.key_id} for "Shop": scope write, expires never.\n\n'
            f"    {secret}\n\n"
            "Copy it now. You won't see it again.\n"
            f"It replaces key {old.key_id}, which works until {minute(old.expires_at)}.\n"
        )

    def test_json(self) -> None:
        columns = {"name": "Shop", "contact": "shop@example.com", "scope": "read", "rate_limit": "5/s"}
        old, before = APIKeyFactory(**columns), timezone.now()
        out = run_json("rotate_api_key", old.key_id)
        new = replaced(old)
        assert keys.digest(out["key"]) == new.digest != old.digest
        assert out == shown(new, key=out["key"], replaces=shown(old)) | columns
        assert old.expires_at is not None
        assert before <= old.expires_at - DAY <= timezone.now()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ([], "Error: the following arguments are required: KEY_ID"),
            (["0"], f"Error: argument KEY_ID: {KEY_ID}"),
            (["'; DROP--"], f"Error: argument KEY_ID: {KEY_ID}"),
            (["00000000", "--grace", "0h"], f"Error: argument --grace: {DURATION}"),
            (["00000000", "--grace", "tomorrow"], f"Error: argument --grace: {DURATION}"),
        ],
    )
    def test_rejects(self, arguments: list[str], sentence: str) -> None:
        APIKeyFactory()
        assert rejection("rotate_api_key", *arguments) == sentence

    @pytest.mark.parametrize(
        ("columns", "past"),
        [({"revoked_at": timezone.now()}, "revoked"), ({"expires_at": timezone.now()}, "expired")],
    )
    def test_rejects_a_key_that_is_not_active(self, columns: dict[str, Any], past: str) -> None:
        key = APIKeyFactory(**columns)
        sentence = f"Key {key.key_id} is {past} and cannot be rotated; issue a new one."
        assert rejection("rotate_api_key", key.key_id) == sentence


@pytest.mark.parametrize("command", ["rotate_api_key", "revoke_api_key"])
def test_an_unknown_key(command: str) -> None:
    assert rejection(command, "00000000") == "No key has the ID 00000000. List the keys with list_api_keys --all."


@pytest.mark.parametrize("command", ["rotate_api_key", "revoke_api_key"])
def test_a_whole_key_is_rejected_and_not_repeated(command: str, caplog: pytest.LogCaptureFixture) -> None:
    key = APIKeyFactory()
    assert rejection(command, key.secret) == f"Error: argument KEY_ID: {KEY_ID}"
    assert caplog.text == ""


class TestRotateMany:
    @pytest.fixture
    def due(self) -> list[APIKey]:
        """Two keys that expire soon, and four that are not due for a reason each."""
        soon = timezone.now() + 3 * DAY
        APIKeyFactory(name="endless")
        APIKeyFactory(name="later", expires_at=timezone.now() + 30 * DAY)
        APIKeyFactory(name="revoked", expires_at=soon, revoked_at=timezone.now())
        APIKeyFactory(name="expired", expires_at=timezone.now())
        due = [APIKeyFactory(name=name, expires_at=soon, created_at=soon - 90 * DAY) for name in ("first", "second")]
        APIKeyFactory(name="replaced", expires_at=soon, replaced_by=APIKeyFactory(name="replacement"))
        return due

    def test_sentences(self, due: list[APIKey]) -> None:
        out = run("rotate_api_keys", "--expiring-within", "14d", "--grace", "1h")
        expected, lines = "", out.splitlines()
        for number, old in enumerate(due):
            new, secret = replaced(old), lines[2 + 7 * number].strip()
            assert keys.digest(secret) == new.digest
            expected += (
                f'Issued key {new.key_id} for "{old.name}": scope write, expires {minute(new.expires_at)}.\n\n'
                f"    {secret}\n\n"
                "Copy it now. You won't see it again.\n"
                f"It replaces key {old.key_id}, which works until {minute(old.expires_at)}.\n\n"
            )
        assert out == expected + "Rotated 2 keys.\n"
        assert APIKey.objects.count() == 8 + 2

    def test_json(self, due: list[APIKey]) -> None:
        out = run_json("rotate_api_keys", "--expiring-within", "2w")
        assert out == [
            shown(replaced(old), key=item["key"], replaces=shown(old)) for old, item in zip(due, out, strict=True)
        ]

    def test_dry_run(self, due: list[APIKey]) -> None:
        out = run("rotate_api_keys", "--expiring-within", "14d", "--dry-run").splitlines()
        assert [line.split()[0] for line in out] == ["KEY", *(key.key_id for key in due), "Dry"]
        assert out[-1] == "Dry run: 2 keys would be rotated."
        assert run_json("rotate_api_keys", "--expiring-within", "14d", "--dry-run") == [shown(key) for key in due]
        assert run("rotate_api_keys", "--expiring-within", "1d", "--dry-run") == "Dry run: no key is due.\n"
        assert APIKey.objects.count() == 8

    def test_a_new_key_is_due_again_in_the_second_half_of_its_life(self) -> None:
        old = APIKeyFactory(created_at=timezone.now() - 6 * DAY, expires_at=timezone.now() + DAY)
        window = ["rotate_api_keys", "--expiring-within", "14d"]
        assert [item["replaces"]["key_id"] for item in run_json(*window)] == [old.key_id]
        assert run(*window) == "Rotated 0 keys.\n"
        assert run_json(*window) == []
        new = APIKey.objects.get(replaced_by=None)
        assert new.expires_at is not None
        APIKey.objects.filter(pk=new.pk).update(
            created_at=new.created_at - 4 * DAY, expires_at=new.expires_at - 4 * DAY
        )
        assert [item["replaces"]["key_id"] for item in run_json(*window)] == [new.key_id]

    def test_a_short_life_that_nobody_rotated_is_due_at_once(self) -> None:
        APIKeyFactory(expires_at=timezone.now() + DAY)
        assert run("rotate_api_keys", "--expiring-within", "14d").endswith("\n\nRotated 1 key.\n")

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ([], "Error: the following arguments are required: --expiring-within"),
            (["--expiring-within", "soon"], f"Error: argument --expiring-within: {DURATION}"),
        ],
    )
    def test_rejects(self, arguments: list[str], sentence: str) -> None:
        assert rejection("rotate_api_keys", *arguments) == sentence


class TestRevoke:
    def test_sentence_and_again(self) -> None:
        key = APIKeyFactory(name="Shop")
        first = run("revoke_api_key", key.key_id)
        key.refresh_from_db()
        assert first == f'Revoked key {key.key_id} of "Shop" at {minute(key.revoked_at)}.\n'
        assert run("revoke_api_key", key.key_id) == first
        assert run_json("revoke_api_key", key.key_id) == shown(key, dry_run=False)

    def test_dry_run(self) -> None:
        key = APIKeyFactory(name="Shop")
        out = run("revoke_api_key", key.key_id, "--dry-run")
        assert out == f'Dry run: key {key.key_id} of "Shop" would be revoked.\n'
        assert run_json("revoke_api_key", key.key_id, "--dry-run") == shown(key, dry_run=True)
        key.revoke()
        out = run("revoke_api_key", key.key_id, "--dry-run")
        assert out == f'Dry run: key {key.key_id} of "Shop" is revoked already.\n'


class TestList:
    @pytest.fixture
    def stored(self) -> list[APIKey]:
        """One key in each state."""
        now = timezone.now()
        return [
            APIKeyFactory(name="Shop", created_at=now, rate_limit="600/min", last_used_at=now),
            APIKeyFactory(name="A longer name", created_at=now, scope="read", expires_at=now + DAY),
            APIKeyFactory(name="Gone", created_at=now, expires_at=now - DAY),
            APIKeyFactory(name="Lost", created_at=now, revoked_at=now),
        ]

    def test_table(self, stored: list[APIKey]) -> None:
        shop, longer, gone, lost = stored
        made, never = minute(shop.created_at), "never".ljust(20)
        assert run("list_api_keys", "--all") == (
            "KEY ID    NAME           SCOPE  LIMIT    CREATED               EXPIRES               "
            "LAST USED             STATE\n"
            f"{shop.key_id}  Shop           write  600/min  {made}  {never}  {minute(shop.last_used_at)}  active\n"
            f"{longer.key_id}  A longer name  read   -        {made}  {minute(longer.expires_at)}  {never}  expiring\n"
            f"{gone.key_id}  Gone           write  -        {made}  {minute(gone.expires_at)}  {never}  expired\n"
            f"{lost.key_id}  Lost           write  -        {made}  {never}  {never}  revoked\n"
        )

    @pytest.mark.parametrize(
        ("arguments", "names"),
        [
            ([], ["Shop", "A longer name"]),
            (["--all"], ["Shop", "A longer name", "Gone", "Lost"]),
            (["--expiring-within", "2d"], ["A longer name"]),
            (["--expiring-within", "2h"], []),
        ],
    )
    def test_json(
        self, stored: list[APIKey], arguments: list[str], names: list[str], django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(1):
            out = run_json("list_api_keys", *arguments)
        assert out == [shown(key) for key in stored if key.name in names]

    def test_nothing(self) -> None:
        assert run("list_api_keys") == "KEY ID  NAME  SCOPE  LIMIT  CREATED  EXPIRES  LAST USED  STATE\n"

    def test_rejects(self) -> None:
        sentence = "Error: argument --expiring-within: not allowed with argument --all"
        assert rejection("list_api_keys", "--all", "--expiring-within", "2d") == sentence

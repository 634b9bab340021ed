"""The life of a key, and what the database itself rejects."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection
from django.utils import timezone

from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey, RotationError
from tests.factories import APIKeyFactory
from tests.racing import patient

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
PASTS: dict[str, Callable[[], dict[str, Any]]] = {
    "endless": dict,
    "lasting": lambda: {"expires_at": timezone.now() + 90 * DAY},
    "expiring": lambda: {"expires_at": timezone.now() + 3 * DAY},
    "expired": lambda: {"expires_at": timezone.now() - DAY},
    "revoked": lambda: {"revoked_at": timezone.now() - DAY},
    "revoked, then expired": lambda: {"revoked_at": timezone.now() - 2 * DAY, "expires_at": timezone.now() - DAY},
}


@pytest.fixture
def pasts() -> dict[str, APIKey]:
    return {name: APIKeyFactory(name=name, **columns()) for name, columns in PASTS.items()}


def names(queryset: Any) -> set[str]:
    return {key.name for key in queryset}


class TestFilters:
    def test_each_names_the_keys_it_says(self, pasts: dict[str, APIKey]) -> None:
        found = APIKey.objects.all()
        assert len(pasts) == 6
        assert names(found.active()) == {"endless", "lasting", "expiring"}
        assert names(found.expiring_within(14 * DAY)) == {"expiring"}
        assert names(found.expiring_within(365 * DAY)) == {"lasting", "expiring"}

    @pytest.mark.parametrize(
        ("past", "state"),
        [
            ("endless", "active"),
            ("lasting", "active"),
            ("expiring", "expiring"),
            ("expired", "expired"),
            ("revoked", "revoked"),
            ("revoked, then expired", "revoked"),
        ],
    )
    def test_state(self, pasts: dict[str, APIKey], past: str, state: str) -> None:
        assert pasts[past].state == state
        assert pasts[past].is_active == (pasts[past] in APIKey.objects.active())


class TestIssue:
    def test_stores_what_is_given(self, admin_user: User) -> None:
        before = timezone.now()
        expires_at = before + DAY
        key, secret = APIKey.objects.issue(
            name="Shop",
            contact="shop@example.com",
            scope="read",
            rate_limit="600/min",
            expires_at=expires_at,
            created_by=admin_user,
        )
        stored = dict(APIKey.objects.values().get())
        created_at: Any = stored.pop("created_at")
        assert before <= created_at <= timezone.now()
        assert stored == {
            "id": key.pk,
            "name": "Shop",
            "contact": "shop@example.com",
            "key_id": secret[10:18],
            "digest": keys.digest(secret),
            "scope": "read",
            "rate_limit": "600/min",
            "expires_at": expires_at,
            "revoked_at": None,
            "last_used_at": None,
            "replaced_by_id": None,
            "created_by_id": admin_user.pk,
        }

    @pytest.mark.parametrize(("prefix"), ["pets_live_", "pets_test_"])
    def test_the_environment_decides_the_prefix(self, settings: Any, prefix: str) -> None:
        settings.API_KEY_PREFIX = prefix
        _, secret = APIKey.objects.issue(name="Shop")
        assert keys.is_well_formed(secret, prefix=prefix)


class TestRotate:
    def test_both_keys_work_until_the_grace_is_over(self, admin_user: User) -> None:
        old = APIKeyFactory(name="Shop", contact="shop@example.com", scope="read", rate_limit="5/s")
        before = timezone.now()
        new, secret = old.rotate(grace=DAY, created_by=admin_user)
        old.refresh_from_db()
        assert old.replaced_by == new
        assert old.expires_at is not None
        assert before + DAY <= old.expires_at <= timezone.now() + DAY
        assert old.is_active
        assert (new.name, new.contact, new.scope, new.rate_limit) == ("Shop", "shop@example.com", "read", "5/s")
        assert (new.expires_at, new.revoked_at, new.last_used_at, new.replaced_by) == (None, None, None, None)
        assert new.created_by == admin_user
        assert new.digest == keys.digest(secret)
        assert secret != old.secret

    def test_a_stale_instance_does_not_undo_a_revocation(self) -> None:
        stale = APIKeyFactory()
        APIKey.objects.get(pk=stale.pk).revoke()
        with pytest.raises(RotationError):
            stale.rotate(grace=DAY)

    def test_all_or_none(self) -> None:
        first, second = APIKeyFactory(), APIKeyFactory(revoked_at=timezone.now())
        with pytest.raises(RotationError):
            APIKey.objects.all().rotate(grace=DAY)
        first.refresh_from_db()
        assert (first.replaced_by, APIKey.objects.count()) == (None, 2)
        assert second.replaced_by is None


class TestDatabase:
    @pytest.mark.parametrize(
        ("columns", "constraint"),
        [
            ({"scope": "admin"}, "api_key_scope_is_known"),
            ({"key_id": "short"}, "api_key_id_has_its_length"),
            ({"digest": "short"}, "api_key_digest_has_its_length"),
        ],
    )
    def test_rejects_keys(self, columns: dict[str, str], constraint: str) -> None:
        key = APIKeyFactory()
        with pytest.raises(IntegrityError, match=constraint):
            APIKey.objects.filter(pk=key.pk).update(**columns)


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    def together(self, act: Callable[[int], object]) -> list[object]:
        barrier = threading.Barrier(4)

        def run(number: int) -> object:
            barrier.wait()
            try:
                return act(number)
            except RotationError:
                return "rejected"
            finally:
                connection.close()

        with patient(), ThreadPoolExecutor(4) as pool:
            return list(pool.map(run, range(4)))

    def test_one_rotation_wins(self) -> None:
        key = APIKeyFactory()
        outcomes = self.together(lambda _: bool(APIKey.objects.get(pk=key.pk).rotate(grace=DAY)))
        assert sorted(outcomes, key=str) == [True, "rejected", "rejected", "rejected"]
        assert APIKey.objects.count() == 2

    def test_one_revocation_wins(self) -> None:
        key = APIKeyFactory()
        outcomes = self.together(lambda _: APIKey.objects.get(pk=key.pk).revoke())
        assert sorted(outcomes, key=str) == [False, False, False, True]

    def test_a_key_is_rotated_once_by_several_runs(self) -> None:
        now = timezone.now()
        APIKeyFactory.create_batch(3, created_at=now - 90 * DAY, expires_at=now + DAY)
        due = APIKey.objects.expiring_within(2 * DAY).not_replaced
        self.together(lambda _: len(due().rotate(grace=DAY)))
        assert APIKey.objects.count() == 6

"""The life of a key, and what the database itself rejects."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from petstore_site.apikeys.models import APIKey, RotationError
from tests.factories import APIKeyFactory
from tests.racing import patient

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


class TestRotate:
    def test_a_stale_instance_does_not_undo_a_revocation(self) -> None:
        stale = APIKeyFactory()
        APIKey.objects.get(pk=stale.pk).revoke()
        with pytest.raises(RotationError):
            stale.rotate(grace=DAY)

    def test_a_key_that_ends_before_the_grace_is_over_ends_then(self) -> None:
        old = APIKeyFactory(expires_at=timezone.now() + DAY)
        ends = old.expires_at
        old.rotate(grace=2 * DAY)
        assert old.expires_at == ends

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

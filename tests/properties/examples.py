"""What examples that use the database share: none sees the rows of another, and time passes when one says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest import mock

from django.db import transaction
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from petstore_site.apikeys import lookup

SITES = st.tuples(st.booleans(), st.booleans())
"""Behind a proxy that ends TLS; open to the scripts of a shop."""


def site(proxied: bool, cors: bool) -> override_settings:
    """Run the block with the settings of a site. The fixture `settings` would pile up those of all examples."""
    return override_settings(
        SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https") if proxied else None,
        CORS_ALLOWED_ORIGINS=["https://shop.example"] if cors else [],
    )


@contextmanager
def rolled_back() -> Iterator[None]:
    """Undo what the block does to the database; the cache of keys is emptied too, as it would remember."""
    with transaction.atomic():
        lookup.clear()
        yield
        transaction.set_rollback(True)
    lookup.clear()


def run(machine: type[RuleBasedStateMachine], **world: object) -> None:
    """Run the machine as a test; `world` becomes its class's attributes, such as a client."""
    run_state_machine_as_test(type(machine.__name__, (machine,), world))


class Clock:
    """A fake clock for the block: the calendar's and the monotonic one."""

    def __init__(self) -> None:
        self.now = datetime(2027, 3, 14, 15, 9, 26, tzinfo=UTC)

    def passes(self, time: timedelta) -> None:
        self.now += time

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let Django's `timezone.now` and the cache of keys read this clock."""
        with (
            mock.patch("django.utils.timezone.now", self.read),
            mock.patch.object(lookup._cache, "_clock", self.seconds),
        ):
            yield

    def read(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

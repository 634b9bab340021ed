"""Keys: their written form, and their life over time as issue, rotation, revocation and requests interleave."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from petstore_site.apikeys import keys
from petstore_site.apikeys.models import APIKey, RotationError
from tests.conftest import ApiClient
from tests.factories import APIKeyFactory
from tests.properties.examples import Clock, RolledBackMachine, run

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


SOON = timedelta(days=14)
STALE = timedelta(seconds=1)
LIFETIMES = st.sampled_from([None, *(timedelta(**{unit: 1}) for unit in ("minutes", "days")), timedelta(days=90)])
GRACES = st.sampled_from([timedelta(0), timedelta(seconds=30), timedelta(days=1), timedelta(days=30)])
PERIODS = st.sampled_from(
    [timedelta(milliseconds=400), timedelta(seconds=1), timedelta(seconds=30), timedelta(hours=23), timedelta(days=13), timedelta(days=90)]
)  # fmt: skip
SOME = st.integers(0, 1000)
CODES: dict[str, str | int] = {
    "active": 200,
    "expiring": 200,
    "expired": "api_key_expired",
    "revoked": "api_key_revoked",
}


@dataclass(frozen=True)
class Life:
    """What is true of a key, as far as its state goes."""

    issued_at: datetime
    expires_at: datetime | None
    revoked: bool = False
    replaced: bool = False

    def state(self, now: datetime) -> str:
        if self.revoked:
            return "revoked"
        if self.expires_at is None or self.expires_at > now + SOON:
            return "active"
        return "expiring" if self.expires_at > now else "expired"


@dataclass
class Held:
    """A key that a client holds, its life, and what that was before, each with the moment when it ended."""

    secret: str
    life: Life
    past: list[tuple[datetime, Life]] = field(default_factory=list)

    @property
    def changed_at(self) -> datetime:
        return self.past[-1][0] if self.past else self.life.issued_at

    def becomes(self, now: datetime, **changes: Any) -> None:
        self.past.append((now, self.life))
        self.life = replace(self.life, **changes)

    def answers(self, now: datetime) -> set[str | int]:
        """Return the allowed responses: the truth, or what was true less than a second ago."""
        lives = [life for ended_at, life in self.past if now - ended_at < STALE]
        return {CODES[life.state(now)] for life in [*lives, self.life]}


class Registry(RolledBackMachine):
    """Issues, rotates and revokes keys and lets time pass; requests are made with the keys all along."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.time = self.clock.installed()
        self.time.__enter__()
        self.held: dict[int, Held] = {}

    @rule(lifetime=LIFETIMES)
    def issue(self, lifetime: timedelta | None) -> None:
        now = self.clock.now
        expires_at = now + lifetime if lifetime else None
        key = APIKeyFactory(created_at=now, expires_at=expires_at)
        self.hold(key, key.secret, Life(now, expires_at))

    @precondition(lambda self: self.held)
    @rule(which=SOME, grace=GRACES)
    def rotate(self, which: int, grace: timedelta) -> None:
        pk, now = self.pick(which), self.clock.now
        life = self.held[pk].life
        if life.state(now) in {"expired", "revoked"} or life.replaced:
            with pytest.raises(RotationError):
                APIKey.objects.get(pk=pk).rotate(grace=grace)
            return
        new, secret = APIKey.objects.get(pk=pk).rotate(grace=grace)
        lifetime = life.expires_at and life.expires_at - life.issued_at
        self.hold(new, secret, Life(now, now + lifetime if lifetime else None))
        ends_at = now + grace if life.expires_at is None else min(life.expires_at, now + grace)
        self.held[pk].becomes(now, expires_at=ends_at, replaced=True)

    @precondition(lambda self: self.held)
    @rule(which=SOME)
    def revoke(self, which: int) -> None:
        pk = self.pick(which)
        assert APIKey.objects.get(pk=pk).revoke() is not self.held[pk].life.revoked
        if not self.held[pk].life.revoked:
            self.held[pk].becomes(self.clock.now, revoked=True)

    @rule(period=PERIODS)
    def time_passes(self, period: timedelta) -> None:
        self.clock.passes(period)

    @precondition(lambda self: self.held)
    @rule(which=SOME, place=st.integers(10, 55), character=st.sampled_from(BASE62))
    def ask_with_a_typo(self, which: int, place: int, character: str) -> None:
        secret = self.held[self.pick(which)].secret
        typo = secret[:place] + character + secret[place + 1 :]
        if typo != secret:
            assert ApiClient(typo).get("/v1/categories").json()["code"] == "api_key_invalid"

    @invariant()
    def a_change_takes_effect_within_a_second(self) -> None:
        """Ask with the keys that changed last."""
        now = self.clock.now
        for held in sorted(self.held.values(), key=lambda held: held.changed_at)[-2:]:
            answer = ApiClient(held.secret).get("/v1/categories")
            assert (200 if answer.status_code == 200 else answer.json()["code"]) in held.answers(now)

    @invariant()
    def every_state_is_what_the_life_says(self) -> None:
        now = self.clock.now
        states = {pk: held.life.state(now) for pk, held in self.held.items()}
        assert {key.pk: str(key.state) for key in APIKey.objects.all()} == states
        found = APIKey.objects.all()
        assert self.pks(found.active()) == {pk for pk, state in states.items() if state in {"active", "expiring"}}
        assert self.pks(found.expiring_within(SOON)) == {pk for pk, state in states.items() if state == "expiring"}
        assert self.pks(found.not_replaced()) == {pk for pk, held in self.held.items() if not held.life.replaced}

    def teardown(self) -> None:
        self.time.__exit__(None, None, None)
        super().teardown()

    def hold(self, key: APIKey, secret: str, life: Life) -> None:
        assert keys.is_well_formed(secret, prefix="pets_test_")
        self.held[key.pk] = Held(secret, life)

    def pick(self, which: int) -> int:
        pks = sorted(self.held)
        return pks[which % len(pks)]

    @staticmethod
    def pks(queryset: Any) -> set[int]:
        return set(queryset.values_list("pk", flat=True))


@pytest.mark.django_db
def test_a_key_lives_as_its_owner_was_told() -> None:
    run(Registry)

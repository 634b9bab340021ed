"""How many examples the properties are tried with: `ci`, always the same ones, or `explore`, many and new ones.

`HYPOTHESIS_PROFILE=explore python -m pytest tests/properties` looks for what `ci` has not found yet.
"""

import os

import pytest
from hypothesis import settings
from hypothesis.vendor.pretty import RepresentationPrinter

from tests.exploring import STEADY

# The database is rolled back by each example itself (tests.properties.examples), not by the fixture.
settings.register_profile("ci", STEADY, max_examples=100, stateful_step_count=25)
settings.register_profile("explore", STEADY, max_examples=2000, stateful_step_count=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _failing_values_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schemathesis, whose plugin every test run loads, silences Hypothesis's printer of values for all."""
    monkeypatch.setattr("hypothesis.core.RepresentationPrinter", RepresentationPrinter)

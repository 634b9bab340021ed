"""Whether this run looks for what is not found yet: `HYPOTHESIS_PROFILE=explore`, as `make -C lab explore` sets it."""

import os

from hypothesis import HealthCheck, settings

EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"

STEADY = settings(
    derandomize=not EXPLORE,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Always the same examples, unless it explores, however long they take."""

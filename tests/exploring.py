"""Whether this run looks for what is not found yet: `HYPOTHESIS_PROFILE=explore`, as `make test-nightly` sets it."""

import os

EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"

"""Whether this run looks for what is not found yet: `HYPOTHESIS_PROFILE=explore`, as `make -C lab explore` sets it."""

import os

EXPLORE = os.environ.get("HYPOTHESIS_PROFILE") == "explore"

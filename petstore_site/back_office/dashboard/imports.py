"""The last imports."""

from typing import Any

from pets.models import ImportRun
from petstore_site.back_office.dashboard.addresses import listed

MOST = 5


def latest() -> dict[str, Any]:
    """Return the newest imports, without what was only previewed."""
    return {"runs": ImportRun.objects.without_previews()[:MOST], "all": listed("pets_importrun")}

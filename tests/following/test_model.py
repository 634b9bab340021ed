"""The short run of the model; `make -C lab follow` runs it for an hour."""

import pytest

from tests.following import model


@pytest.mark.postgresql("SQLite lets one transaction write: its feed is in their order")
def test_every_copy_equals_the_catalogue_whenever_the_feed_is_empty() -> None:
    ways = ("added", "edit", "merge", "saved", "removed")
    done = model.run(2, length=5, ways=ways)
    assert done["compared"] == done["rounds"] * model.FOLLOWERS
    assert min(done[way] for way in ways) > 0, done

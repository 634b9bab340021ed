"""The short run of the model; `make -C lab follow` runs it for an hour."""

from tests.following import model


def test_every_copy_equals_the_catalogue_whenever_the_feed_is_empty() -> None:
    done = model.run(10, length=5)
    assert done["compared"] == done["rounds"] * model.FOLLOWERS
    assert min(done[way] for way in ("added", "edit", "merge", "saved", "removed")) > 0, done

"""Only versions that were run are claimed: the table that `make matrix` writes says which."""

import re
import tomllib

from tests.matrix import PAGE, ROOT


def rows() -> list[tuple[str, str, int]]:
    """Return Python, Django and how many tests failed, of each row."""
    row = re.compile(r"^\| (\d+\.\d+)\.\d+ \| (\d+\.\d+)\.\d+ \| \w+ \| [\d,]+ \| (\d+) \|", re.MULTILINE)
    found = row.findall(PAGE.read_text())
    return [(python, django, int(failed)) for python, django, failed in found]


def test_every_row_passed() -> None:
    assert rows()
    assert {failed for _python, _django, failed in rows()} == {0}


def test_the_readme_claims_the_versions_of_the_table() -> None:
    claimed = re.search(r"Python (3\.\d+) to (3\.\d+)\.", (ROOT / "README.md").read_text())
    assert claimed
    ran = sorted({python for python, django, _failed in rows() if django == "5.2"})
    assert claimed.groups() == (ran[0], ran[-1])


def test_the_oldest_version_is_the_one_that_is_required() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert required == f">={min(python for python, _django, _failed in rows())}"

"""Only versions that were run are claimed: the table that `make -C lab matrix` writes says which."""

import re
import tomllib

from lab.matrix import PAGE, ROOT, rows_in

ROWS = rows_in(PAGE.read_text(encoding="utf-8"))


def test_every_row_passed() -> None:
    assert ROWS
    assert {row.failed for row in ROWS} == {0}


def test_the_readme_claims_the_versions_of_the_table() -> None:
    claimed = re.search(r"Python (3\.\d+) to (3\.\d+)\.", (ROOT / "README.md").read_text())
    assert claimed
    ran = sorted({row.pair[0] for row in ROWS if row.pair[1] == "5.2"})
    assert claimed.groups() == (ran[0], ran[-1])


def test_the_oldest_version_is_the_one_that_is_required() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert required == f">={min(row.pair[0] for row in ROWS)}"

"""What README shows is drawn from files of ours: it can't say anything else (`make pictures` draws it)."""

import re
import tomllib
from xml.etree import ElementTree as ET

import pytest

from publishing import badges, diagram
from tests.matrix import PAGE, rows_in
from tests.server import ROOT

DRAWN = badges.drawn() | diagram.drawn()


def test_the_pictures_are_those_that_are_drawn() -> None:
    assert {file: file.read_text(encoding="utf-8") for file in DRAWN} == DRAWN, "Run: make pictures"


def test_the_badges_say_what_our_files_say() -> None:
    rows = rows_in(PAGE.read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = badges.texts()
    assert said["version"] == project["version"]
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith(f"{said['licence']} License\n")
    assert said["python"].split(" | ") == sorted({row.pair[0] for row in rows if not row.failed})
    assert any(said["tests"] == f"{row.passed:,} passed on {row.day}" for row in rows)


def test_readme_shows_only_pictures_that_are_here() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    files = {first or second for first, second in shown}
    assert not {file for file in files if not (ROOT / file).is_file()}
    assert {str(file.relative_to(ROOT)) for file in DRAWN} <= files


def test_every_box_and_arrow_is_drawn() -> None:
    text = diagram.SOURCE.read_text(encoding="utf-8")
    drawn = ET.fromstring(DRAWN[diagram.IMAGES / "architecture.svg"])
    words = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    boxes = diagram.boxes(text).values()
    assert words == [word for box in boxes for word in (box.title, box.text)]
    curves = [one for one in drawn.findall("{http://www.w3.org/2000/svg}path") if one.get("marker-end")]
    assert len(curves) == len(diagram.arrows(text)) == text.count("->") - 1


def test_a_box_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=r"^Not a box: 'nginx TLS: '$"):
        diagram.boxes("nginx TLS: ")

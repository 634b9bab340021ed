"""A description that breaks the clients of the last release must not pass by accident.

One idea: what a release describes stays word for word, and more may be beside it where clients expect that. So a
change that would break nobody, such as a longer name that may be sent, is found too: it gets a line in `INTENDED`.
"""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCS = Path(__file__).parent.parent.parent / "docs"

OPEN = {"paths", "parameters", "responses", "headers", "content", "components", "schemas", "securitySchemes", "properties"}  # fmt: skip
"""Where more may come, besides a method at a path."""

WORDS = {"description", "summary", "title", "example", "examples", "tags", "deprecated"}
"""Keywords on which no client depends."""

SENT = {"NewPet", "requestBody"}
"""Where a field that is newly required breaks who does not send it; elsewhere it is newly promised."""


def breaks(old: Any, new: Any, *way: str) -> Iterator[str]:
    """Yield the place of each breaking change, none if every client of `old` can live with `new`."""
    name = way[-1] if way else ""
    if isinstance(old, dict) and isinstance(new, dict):
        is_open = not way or name in OPEN or way[-2:-1] == ("paths",)
        for each in old if is_open else old | new:
            if is_open or each not in WORDS:
                yield from breaks(old.get(each), new.get(each), *way, each)
    elif name == "parameters" and isinstance(new, list):
        before, after = named(old or []), named(new)
        yield from breaks(before, {each: after.get(each) for each in before}, *way)
        yield from (
            "/".join([*way, each]) for each in after if each not in before and after[each].get("required", True)
        )
    elif (name == "required" and not SENT & {*way} and isinstance(old, list)) or name == "x-extensible-enum":
        yield from ("/".join([*way, each]) for each in old if each not in (new or []))
    elif old != new:
        yield "/".join(way)


def named(parameters: list[Any]) -> dict[str, Any]:
    return {each.get("name") or each["$ref"]: each for each in parameters}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def version(path: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", path.stem)))


RELEASED = sorted((DOCS / "released").glob("openapi-*.yaml"), key=version)
LAST = read(RELEASED[-1])

INTENDED = re.compile(r".*/headers/Service-Mode")
"""Reads while the primary is lost said it, and went with 2.0 (docs/decisions/0058-reads-wait-for-the-new-primary.md)."""


def test_no_client_of_the_last_release_breaks() -> None:
    """A breaking change needs a new major version, under another path, beside this one."""
    assert [place for place in breaks(LAST, read(DOCS / "openapi.yaml")) if not INTENDED.fullmatch(place)] == []


def test_every_release_has_its_description() -> None:
    dated = re.findall(r"^## (\S+) \(\d", (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    since_1_5 = dated[: dated.index("1.4.0")]
    assert since_1_5[::-1] == [".".join(map(str, version(path))) for path in RELEASED]
    assert {read(path)["info"]["version"] for path in RELEASED} == {"1.0.0"}


Change = Callable[[Any], None]


def put(way: str, to: Any) -> Change:
    def change(document: Any) -> None:
        *path, last = steps(way)
        reduce(getitem, path, document)[last] = to

    return change


def drop(way: str) -> Change:
    def change(document: Any) -> None:
        *path, last = steps(way)
        del reduce(getitem, path, document)[last]

    return change


def steps(way: str) -> list[Any]:
    """Return the keys and places of a way, in which `~` is the slash of a path."""
    return [int(step) if step.isdecimal() and len(step) < 3 else step.replace("~", "/") for step in way.split("/")]


LIST, ADD = "paths/~pets/get", "paths/~pets/post"
NEW_PET, PET, ERROR = (f"components/schemas/{name}" for name in ("NewPet", "Pet", "Error"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (drop(ADD), "paths//pets/post"),
        (drop(f"{LIST}/responses/200/headers/Link"), "paths//pets/get/responses/200/headers/Link"),
        (drop(f"{LIST}/parameters/0"), "paths//pets/get/parameters/categoryId"),
        (put(f"{LIST}/parameters/0/required", to=True), "paths//pets/get/parameters/categoryId/required"),
        (put(f"{LIST}/parameters/0/schema/minimum", 2), "paths//pets/get/parameters/categoryId/schema/minimum"),
        (put(f"{ADD}/requestBody/content", {}), "paths//pets/post/requestBody/content/application/json"),
        (put(f"{NEW_PET}/required", ["name", "categoryId", "status"]), f"{NEW_PET}/required"),
        (drop(f"{PET}/properties/name"), f"{PET}/properties/name"),
        (put(f"{PET}/required", ["id", "name", "status"]), f"{PET}/required/categoryId"),
        (put(f"{PET}/properties/id/type", ["integer", "null"]), f"{PET}/properties/id/type"),
        (put("components/schemas/PetStatus/enum", ["available"]), "components/schemas/PetStatus/enum"),
        (put(f"{ERROR}/properties/code/x-extensible-enum", LAST["components"]["schemas"]["Error"]["properties"]["code"]["x-extensible-enum"][1:]), f"{ERROR}/properties/code/x-extensible-enum/malformed_json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_breaking_change_is_found(change: Change, place: str) -> None:
    document = deepcopy(LAST)
    change(document)
    assert [*breaks(LAST, document)] == [place]


@pytest.mark.parametrize(
    ("change", "places"),
    [
        (put("paths/~dogs", {"get": {}}), []),
        (put(f"{LIST}/responses/200/headers/More", {}), []),
        (put(f"{LIST}/deprecated", to=True), []),
        (put(f"{LIST}/description", "Other words."), []),
        (put(f"{PET}/properties/age", {"type": "integer"}), []),
        (put(f"{PET}/required", ["id", "name", "status", "categoryId", "age"]), []),
        (lambda document: document["paths"]["/pets"]["get"]["parameters"].append({"name": "dry", "required": False}), []),
        (lambda document: document["paths"]["/pets"]["get"]["parameters"].append({"name": "dry", "required": True}), ["paths//pets/get/parameters/dry"]),
        (lambda document: document["components"]["schemas"]["Error"]["properties"]["code"]["x-extensible-enum"].append("new"), []),
    ],
)  # fmt: skip
def test_what_is_added_breaks_only_who_must_send_it(change: Change, places: list[str]) -> None:
    document = deepcopy(LAST)
    change(document)
    assert [*breaks(LAST, document)] == places

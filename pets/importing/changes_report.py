"""What an import changes, in words and as JSON."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from pets.columns import COLUMNS
from pets.importing.changes import EXAMPLES, Change, Changes, Doubts, changes_of
from pets.importing.errors import printable, quoted
from pets.importing.preview import Planned

IF_RIGHT = "If they are right, use --accept-references."


def altered(changes: Changes) -> str:
    """Return how many references and names look altered, and the first of them."""
    look = "reference or name looks" if changes.altered.count == 1 else "references or names look"
    first = examples(changes.altered.first)
    return f"{changes.altered.count:,} {look} altered by a spreadsheet program or a wrong encoding: {first}"


def examples(changes: Iterable[Change]) -> str:
    """Return the first changes of one field in one line."""
    first = islice(changes, EXAMPLES)
    return ", ".join(f"{_quoted(change.before)} → {_quoted(change.after)} (animal {change.id})" for change in first)


def _quoted(value: str | None) -> str:
    return "none" if value is None else quoted(value)


def summary(changes: Changes, *, would: bool) -> list[str]:
    """Return the lines about the fields that change, and about references by themselves."""
    fields = [f"{header}: {count:,} changed" for header, count in changes.fields.items() if count]
    lines = [f"Fields: {', '.join(fields)}."] if fields else []
    if count := changes.fields.get("external_reference", 0):
        parts = [(changes.changed_references, "changed"), (changes.new_references, "new")]
        counts = ", ".join(f"{number:,} {word}" for number, word in parts if number)
        more = ", …" if count > len(changes.references) else ""
        lines.append(f"References: {counts}: {examples(changes.references)}{more}.")
    if changes.altered.count and would:
        lines += [f"Warning: {altered(changes)}.", f"The import will stop there. {IF_RIGHT}"]
    if changes.misread.count:
        lines.append(f"Warning: {misread(changes)}.")
    return lines


def misread(changes: Changes) -> str:
    """Return how many names of new animals look wrong, and the first of them."""
    count = changes.misread.count
    first = [
        f"{quoted(each.name)} is probably {'no name' if each.likely is None else quoted(each.likely)}"
        for each in changes.misread.first[:EXAMPLES]
    ]
    return f"{count:,} {'name looks' if count == 1 else 'names look'} wrong: {', '.join(first)}"


def animals(changes: Changes, total: int, place: str) -> list[str]:
    """Return a line for each of the first animals, and how many there are more."""
    lines = [animal(row, place) for row in changes.first]
    if total > len(lines):
        lines.append(f"  … and {total - len(lines):,} more; --changes PATH writes all of them.")
    return lines


def animal(row: Planned, place: str) -> str:
    """Return what a row does, in one line."""
    changes = list(changes_of(row, row.pet_id))
    reference = next((f" ({printable(change.reference)})" for change in changes if change.reference), "")
    if row.pet_id is None:
        values = ", ".join(f"{change.field} {quoted(change.after)}" for change in changes)
        return f"  {place} {row.line:,}, new animal: {values}"
    values = ", ".join(f"{change.field} {_quoted(change.before)} → {quoted(change.after)}" for change in changes)
    return f"  {place} {row.line:,}, animal {row.pet_id}{reference}: {values}"


def changes_as_json(changes: Changes) -> dict[str, Any]:
    """Return all of it for a machine; `first` has a dry run only."""
    return {
        "fields": {column.header: changes.fields[column.header] for column in COLUMNS},
        "references": {
            "changed": changes.changed_references,
            "new": changes.new_references,
            "first": [change._asdict() for change in changes.references],
        },
        "altered": _doubts(changes.altered),
        "misread": _doubts(changes.misread),
        "first": [change._asdict() for row in changes.first for change in changes_of(row, row.pet_id)],
        "path": changes.path or None,
    }


def _doubts(doubts: Doubts[Any]) -> dict[str, Any]:
    return {"count": doubts.count, "first": [doubt._asdict() for doubt in doubts.first[:EXAMPLES]]}

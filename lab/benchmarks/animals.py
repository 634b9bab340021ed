"""Generate files of animals that are the same every time."""

import csv
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("external_reference", "name", "category", "status")
CATEGORIES = (
    "Dogs", "Cats", "Rabbits", "Guinea pigs", "Hamsters", "Mice", "Ferrets", "Parrots", "Canaries", "Turtles",
    "Geckos", "Snakes", "Frogs", "Goldfish", "Κουνέλια", "Попугаи", "金魚",
)  # fmt: skip
NAMES = (
    "Rex", "Bella, the old one", 'Milo "Minnow"', "Łucja", "Señor Bigotes", "Ζωή", "Барсик", "רקסי", "ريكس", "मोती",
    "มะลิ", "小花", "ポチ", "초코", "Fluffy 🐰",
)  # fmt: skip


@dataclass(frozen=True)
class Content:
    """The content of a catalogue, as sums that any mistake would change."""

    animals: int
    name_characters: int
    category_ids: int
    status_characters: int


def write_animals(path: Path, animals: int, *, series: str = "A") -> Content:
    """Write a CSV file of animals whose references begin with `series`. Category IDs count from 1."""
    names = categories = statuses = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for number in range(1, animals + 1):
            name, status = f"{NAMES[number % len(NAMES)]} {number}", _status(number, animals)
            category = number % len(CATEGORIES)
            writer.writerow((f"{series}-{number:09}", name, CATEGORIES[category], status))
            names, categories, statuses = names + len(name), categories + category + 1, statuses + len(status)
    return Content(animals, names, categories, statuses)


def _status(number: int, animals: int) -> str:
    """Return the status: old animals are sold, as in a shop."""
    if number * 10 <= animals * 4:
        return "sold"
    return "pending" if number % 20 == 0 else "available"

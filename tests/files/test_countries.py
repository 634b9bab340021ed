"""What spreadsheet programs of all countries make of references, and what an import says of it."""

import csv
import io
import re
from datetime import date
from pathlib import Path

import pytest

from categories.models import Category
from files.doubts import dates
from tests.days import today
from tests.factories import PetFactory
from tests.files.conftest import Import, catalogue, counts
from tests.files.months import from_cldr

pytestmark = pytest.mark.django_db(transaction=True)

YEAR = today().year
SHORT = f"{YEAR % 100:02}"
MADE = {
    "a decimal comma": [("-1.25", "-1,25"), (".75", "0,75")],
    "a number with a power of ten": [("12E3", "1,20E+04"), ("7e7", "70.000.000")],
    "a long number": [
        ("276098102345678", "2,76098E+14"),
        ("380 260 043 212 345", "3,8026E+14"),
        ("1234567890123456", "1.234.567.890.123.450"),
    ],
    "thousands": [
        ("1.001", "1001"),
        ("3000", "3\u00a0000"),
        ("4000", "4\u202f000"),
        ("5000", "5'000"),
        ("6000", "6\u2019000"),
        ("7000.5", "7.000,5"),
        ("12345678", "1,23,45,678"),
    ],
    "a sign": [("(42)", "-42"), ("-43", "\u221243"), ("+45", "45")],
    "percent": [("8%", "8\u00a0%"), ("9%", "9\u202f%")],
    "money": [("$5", "5,00 $"), ("€6", "6,00\u00a0€"), ("-₽11", "-11,00 ₽"), ("(14 €)", "-14")],
    "a date in numbers": [
        ("1/3", f"03.01.{SHORT}"),
        ("4.1.", f"04.01.{YEAR}"),
        ("1-6", f"{YEAR}/01/06"),
        ("7.1.25", "07/01/2025"),
        ("8.1.2025", "2025. 1. 8."),
        ("2025-01-09", "09.01.25"),
        ("10.1.2025", "10.1.2025 \u0433."),
        ("12.50", "Dec-50"),
        ("2025-11", "Nov 25"),
    ],
    "a date with a month": [
        ("2. Mai", f"02.05.{SHORT}"),
        ("DEZ6", "06. Dez"),
        ("3 sty", f"3.01.{YEAR}"),
        ("4 sty", "04-sty"),
        ("5 янв", f"05.01.{YEAR}"),
        ("6/7", "06-juil."),
        ("Sept. 8", f"{YEAR}-09-08"),
        ("8/10", "10월 8일"),
        ("10/9", "10月9日"),
        ("11-Nov-2025", "11.11.2025"),
        ("2025-12-12", "12 dec. 25"),
    ],
    "zeros": [("00042", "42"), ("000", "0"), ("1000", "1,000")],
    "more zeros": [("50%", "0.5")],
    "fewer zeros": [("5%", "0.05"), ("+7", "7")],
    "a number that is rounded": [("1234567890123456", "1.23457E+15")],
    "digits that are lost": [("1234567890123456", "1234567890123460")],
    "more digits that are lost": [("1234567890123456", "1234567890123450")],
    "an American date": [("SEPT 2", f"9/2/{YEAR}")],
    "a date of ISO 8601": [("10-12", f"{YEAR}-12-10"), ("OCT50", "1950-10-01")],
    "a short year": [("01/02/2026", "1/2/26")],
    "a month in words": [("2-Jan-2026", "2026-01-02")],
    "a date in words": [("2-Jan", "1/2")],
    "a month and a year": [("12/2025", "Dec-25")],
    "the first of a month": [("12/2025", "1-Dec-25")],
    "a number of days": [
        ("1/2", f"{(date(YEAR, 2, 1) - date(1899, 12, 30)).days}"),
        ("15/3/2023", "45000"),
        ("OCT 1950", "18537"),
    ],
    "other days": [("2023-03-15", "45000")],
}
"""What is in the catalogue, and what a program in some country writes instead."""

NOT_MADE = [
    ("16-Apr", "APR16"),
    ("MAR1", "MAR01"),
    ("3/12", "2019-12-03"),
    ("1/2", f"1.2.{SHORT}"),
    ("R5", "5"),
    ("5 kg", "5"),
    ("12.34", "1234"),
    ("1.2.3", "3.2.1"),
    ("-42", "42"),
    ("5901234123457", "5.90124E+12"),
    ("5901234123457", "5901230000000"),
    ("12345678901234567890", "12345678901234567891"),
    ("12-01", "12-01-05"),
    ("01/02/2026", "02/01/2026"),
    ("Геша 1", "Геша 2"),
    ("12345678901234567", "12345678901234570"),
]
"""What is in the catalogue, and another reference that no program makes of it."""

LIKE_MADE = [("15/3/2023", "45001")]
"""What looks altered only if it replaces the reference."""


def rows(*cells: tuple[object, ...]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(cells)
    return text.getvalue()


@pytest.mark.parametrize("pairs", MADE.values(), ids=MADE)
def test_what_a_program_made_is_not_added(run_import: Import, dogs: Category, pairs: list[tuple[str, str]]) -> None:
    for before, _ in pairs:
        PetFactory(name="Rex", category=dogs, external_reference=before)
    known = catalogue()
    cells = [(after, "Rex", "Dogs") for _, after in pairs]
    result = run_import(rows(("external_reference", "name", "category"), *cells), "--json")
    looks = [re.search('looks like "(.*)" of', error["message"]) for error in result.json["errors"]]
    assert [found and found[1] for found in looks] == [before for before, _ in pairs]
    assert (result.status, catalogue()) == (3, known)


@pytest.mark.parametrize("pairs", MADE.values(), ids=MADE)
def test_what_a_program_made_replaces_no_reference(
    run_import: Import, dogs: Category, pairs: list[tuple[str, str]]
) -> None:
    pets = [PetFactory(name="Rex", category=dogs, external_reference=before) for before, _ in pairs]
    known = catalogue()
    cells = [(pet.pk, after) for pet, (_, after) in zip(pets, pairs, strict=True)]
    file = rows(("id", "external_reference"), *cells)
    told = run_import(file, "--json", "--dry-run").json
    assert (told["errors"], told["changes"]["altered"]["count"]) == ([], len(pairs))
    assert (run_import(file).status, catalogue()) == (3, known)


@pytest.mark.parametrize(("before", "other"), [*NOT_MADE, *LIKE_MADE])
def test_what_no_program_makes_replaces_a_reference_or_is_added(
    run_import: Import, dogs: Category, before: str, other: str
) -> None:
    pet = PetFactory(name="Rex", category=dogs, external_reference=before)
    told = run_import(rows(("id", "external_reference"), (pet.pk, other)), "--dry-run", "--json").json
    assert (told["errors"], told["changes"]["altered"]["count"]) == ([], int((before, other) in LIKE_MADE))
    result = run_import(rows(("external_reference", "name", "category"), (other, "Max", "Dogs")))
    assert (result.status, [row[3] for row in catalogue()]) == (0, [before, other]), result.error


@pytest.mark.slow
def test_a_month_of_every_language_is_known(run_import: Import, dogs: Category) -> None:
    for month in range(1, 13):
        PetFactory(name="Rex", category=dogs, external_reference=f"31/{month}")
    names = {name for line in from_file().splitlines() for name in line.split("\t")}
    cells = [(f"31-{name}{point}", "Rex", "Dogs") for name in sorted(names) for point in ("", ".")]
    run_import(rows(("external_reference", "name", "category"), *cells), "--on-error", "skip")
    assert counts() == ("done", len(cells), 0, 0, 0, len(cells))


@pytest.mark.slow
def test_the_names_of_months_are_those_of_cldr() -> None:
    assert from_file() == from_cldr()


def from_file() -> str:
    return Path(dates.__file__).with_name("months.txt").read_text(encoding="utf-8")

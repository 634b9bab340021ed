"""What a spreadsheet program makes of an export that is opened and saved, and what an import says of it."""

import csv
import shutil
import subprocess
from datetime import datetime
from functools import partial
from pathlib import Path

import openpyxl
import pytest
from django.test import Client

from categories.models import Category
from files.readers.workbook import TYPE_AGAIN
from pets.models import Pet
from tests.days import today
from tests.factories import PetFactory
from tests.files.conftest import catalogue, command, counts
from tests.files.test_admin_imports import confirm, send, why
from tests.server import SECONDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
NEEDS_LIBREOFFICE = pytest.mark.skipif(
    shutil.which("soffice") is None, reason="soffice is not on PATH (LibreOffice Calc)"
)
WITH_EACH = pytest.mark.parametrize(
    "with_libreoffice", [pytest.param(True, marks=NEEDS_LIBREOFFICE), False], ids=["LibreOffice", "openpyxl"]
)
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"
"""Commas, double quotes, UTF-8, every cell as it is shown: what the dialogue proposes."""

REFERENCES = ["00042", "1E5", "1.50", "1234567890123456", "1/2", "MAR1", "+7", "A-1", "2026-11-21", "'42", "Zoe\u0308"]
REFERENCES += ["\u00a0R1", "1,000", "50%"]


@pytest.fixture
def animals(dogs: Category) -> list[Pet]:
    return [PetFactory(name=f" {text} ", category=dogs, external_reference=text) for text in REFERENCES]


def opened_and_saved(file: Path, form: str, *more: Path, charset: int = 76) -> Path:
    """Return what LibreOffice saves of a file that it opens; `charset`: its number of the encoding, 76 is UTF-8.

    More files are saved beside it: to start the program takes longer than they do.
    """
    folder = file.parent / "saved"
    profile = f"-env:UserInstallation=file://{file.parent}/profile"
    arguments = ["--headless", f"--infilter=CSV:44,34,{charset},1"] if file.suffix == ".csv" else ["--headless"]
    subprocess.run(
        ["soffice", profile, *arguments, "--convert-to", form, "--outdir", str(folder), str(file), *map(str, more)],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return folder / file.name


@WITH_EACH
def test_a_workbook_comes_back_as_it_was(tmp_path: Path, animals: list[Pet], *, with_libreoffice: bool) -> None:
    before = catalogue()
    file = tmp_path / "a.xlsx"
    command("export_pets", str(file), "-v0")
    if with_libreoffice:
        file = opened_and_saved(file, "xlsx")
    else:
        openpyxl.load_workbook(file).save(file)
    result = command("import_pets", str(file), "-v0")
    assert (result.status, counts()) == (0, ("done", len(REFERENCES), 0, 0, len(REFERENCES), 0))
    assert catalogue() == before
    columns = openpyxl.load_workbook(file).worksheets[0].column_dimensions
    assert [columns[letter].number_format for letter in "ABCDE"] == ["@"] * 5  # also for what is typed below


@NEEDS_LIBREOFFICE
def test_a_csv_file_does_not_and_the_import_stops(tmp_path: Path, animals: list[Pet]) -> None:
    before = catalogue()
    command("export_pets", str(tmp_path / "a.csv"), "-v0")
    saved = opened_and_saved(tmp_path / "a.csv", CSV)
    result = command("import_pets", str(saved), "-v0")
    assert (result.status, catalogue()) == (3, before)
    assert '"00042" → "42"' in result.error
    told = command("import_pets", str(saved), "-v0", "--json", "--dry-run").json["changes"]
    trimmed = [each for each in told["first"] if each["field"] == "name" and each["before"].strip() == each["after"]]
    assert told["altered"]["count"] == told["fields"]["external_reference"] + told["fields"]["name"] - len(trimmed)


@NEEDS_LIBREOFFICE
@pytest.mark.parametrize(
    ("charset", "options"),
    [(1, []), (33, ["--for-spreadsheets"]), (34, [])],
    ids=["cp1252", "cp1250 with a mark", "cp1251"],
)
def test_a_csv_file_that_is_read_in_a_wrong_encoding_stops(
    tmp_path: Path, dogs: Category, charset: int, options: list[str]
) -> None:
    names = ["Żółwik", "Ćwirek", "Śnieżka", "Łatka", "Геша", "小白", "Zoë", "Rex"]  # some bytes are no letters in each
    for name in names:
        PetFactory(name=name, category=dogs)
    command("export_pets", str(tmp_path / "a.csv"), "-v0", *options)
    saved = opened_and_saved(tmp_path / "a.csv", CSV, charset=charset)
    result = command("import_pets", str(saved), "-v0", "--formula-safe")
    assert (result.status, [name for name, *_ in catalogue()]) == (3, names)
    assert result.error.startswith("7 references or names look altered by a spreadsheet program or a wrong encoding: ")


ODD = [
    *("00042", "1E5", "12E3", "1.50", "2.51", "2,5", ".5", "1E-5", "5e7", "(43)", "+7", "A-1", "MAR1", "R9"),
    *("1,000", "2 000", "3.000", "1.234.567", "276 098 102 345 678", "1234567890123456", "8 %", "$5", "€6"),
    *("1/2", "3/12", "1.2", "3.1.", "10.11.12", "11/21/2025", "2025-11-22", "2025/11/23", "Mar-16", "4. Jan", "Jan 6"),
    *("7. Mai", "8 мая", "9 sty", "10 avr", "11 gen"),
]
COUNTRY = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item oor:path="/org.openoffice.Setup/L10N">
<prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>{}</value></prop></item></oor:items>
"""
YEAR = today().year


@NEEDS_LIBREOFFICE
@pytest.mark.parametrize(
    ("locale", "own"),
    [
        ("en-US", ("Jan 6", f"01/06/{YEAR}")),
        ("de-DE", ("4. Jan", f"04.01.{YEAR}")),
        ("fr-FR", ("3/12", f"03/12/{YEAR}")),
        ("it-IT", ("11 gen", f"11/01/{YEAR}")),
        ("ru-RU", ("8 мая", f"08.05.{YEAR}")),
    ],
)
def test_a_file_that_a_supplier_saves_in_another_country(
    tmp_path: Path, dogs: Category, staff: Client, locale: str, own: tuple[str, str]
) -> None:
    """What the program changed is added or replaced nowhere; `own` is something that it takes for a value only there."""
    pets = [PetFactory(name="Rex", category=dogs, external_reference=text) for text in ODD]
    before = catalogue()
    (tmp_path / "profile" / "user").mkdir(parents=True)
    (tmp_path / "profile" / "user" / "registrymodifications.xcu").write_text(COUNTRY.format(locale))
    file = tmp_path / "a.csv"
    with file.open("w", encoding="utf-8", newline="") as ours:
        csv.writer(ours).writerows(
            [["external_reference", "name", "category"], *((text, "Rex", "Dogs") for text in ODD)]
        )
    file = opened_and_saved(file, CSV)
    with file.open(encoding="utf-8", newline="") as theirs:
        saved = [row[0] for row in csv.reader(theirs)][1:]
    altered = [pair for pair in zip(ODD, saved, strict=True) if pair[0] != pair[1]]
    assert own in altered

    assert (command("import_pets", str(file), "-v0").status, catalogue()) == (3, before)
    shown = send(staff, file.read_bytes())
    assert shown.context["work"]["found"]["near"]["count"] == len(altered)
    assert (bool(why(confirm(staff, shown))), catalogue()) == (True, before)
    command("import_pets", str(file), "-v0", "--on-error", "skip")
    assert counts() == ("done", len(ODD), 0, 0, len(ODD) - len(altered), len(altered))

    lines = [f'{pet.pk},"{text}"' for pet, text in zip(pets, saved, strict=True)]
    file.write_text("\n".join(["id,external_reference", *lines]), encoding="utf-8")
    assert (command("import_pets", str(file), "-v0").status, catalogue()) == (3, before)
    shown = send(staff, file.read_bytes())
    assert shown.context["work"]["found"]["altered"]["count"] == len(altered)
    assert (bool(why(confirm(staff, shown))), catalogue()) == (True, before)


TYPED = {"d": (datetime(2026, 11, 21), "dddd", "46347"), "b": (True, "General", "1"), "n": (1, "# ?/?", "1")}  # noqa: DTZ001 - a cell has no time zone


@WITH_EACH
def test_what_is_typed_again_as_text_is_taken(tmp_path: Path, dogs: Category, *, with_libreoffice: bool) -> None:
    for kind, (value, odd, _) in TYPED.items():
        for number, (number_format, cell) in enumerate([(odd, value), ("@", value), ("@", "the text")]):
            book = openpyxl.Workbook()
            sheet = book.worksheets[0]
            sheet.append(["name", "category"])
            sheet.append([cell, "Dogs"])
            sheet["A2"].number_format = number_format
            sheet["A2"].quotePrefix = isinstance(cell, str)  # what a ' in front becomes
            book.save(tmp_path / f"{kind}{number}.xlsx")
    first, *more = files = sorted(tmp_path.glob("*.xlsx"))
    folder = opened_and_saved(first, "xlsx", *more).parent if with_libreoffice else tmp_path
    imports = {file.stem: partial(command, "import_pets", str(folder / file.name), "-v0", "--again") for file in files}
    for kind, (*_, shown) in TYPED.items():
        Pet.objects.all().delete()
        rejected = imports[f"{kind}0"]()
        assert rejected.status == 3
        assert TYPE_AGAIN in rejected.error
        imports[f"{kind}1"]()
        assert {name for name, *_ in catalogue()} == ({shown} if with_libreoffice or kind != "b" else set())
        assert imports[f"{kind}2"]().status == 0
        assert catalogue()[-1][0] == "the text"

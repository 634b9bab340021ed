"""The one list of an animal's columns. Statements, files, pages and sentences about animals are made of it.

A new column needs an entry in `COLUMNS` and a field in `RowValues` here, one in the model and in the API's serializers,
its rules in `pets/rules.py` if it has any, and nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pets import rules
from pets.models import PetStatus


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the table of animals that requests or files can set; the history has it too."""

    name: str
    """In the database."""
    field: str = ""
    """In the API; empty for one that it does not show."""
    header: str
    """In a file, on a form, and of `Pet`."""
    rule: Callable[[Any], Any]
    """Returns what is stored for a value, or raises `ValidationError`. Files name a category, requests give its id."""
    sql_type: str = "text"
    required: bool = False
    """Whether a new animal must have it."""
    default: str | None = None
    """What a new animal has without it; None for one that has no default."""
    width: int
    """Of the column in a workbook, in characters."""
    title: str
    """On pages."""
    called: frozenset[str] = frozenset()
    """What suppliers call it, beside what we do."""
    sentence: str = "changed the {noun} of {name} to {after}"
    """What an edit of it alone did, among changes of other animals; also with `{before}`."""
    verb: str = "changed its {noun}"
    """The same on the page of the animal."""
    undoing: str = "undid a change of {noun}"
    is_badge: bool = False
    """Whether pages show it as a badge."""
    hidden_on: str = "narrow"
    """Which screens have no room for it in the table of a check: `narrow`, `phone`, or none."""

    def say(self, words: str, **values: str) -> str:
        """Return `sentence`, `verb` or `undoing` with these values."""
        return words.format(noun=self.title.lower(), **values)


REFERENCE = Column(
    name="external_reference",
    header="external_reference",
    rule=rules.reference,
    width=24,
    title="Reference",
    called=_words(
        "reference, ref, no, nr, number, sku, code, article, item, article no, article number, art. no, art no, "
        "item no, item number, artikelnummer, artikelnr, artikel-nr, artikel nr, art.-nr, art. nr, art.nr, art "
        "nr, bestellnummer, référence, réf, numéro, n°, referencia, código, codice, rif, riferimento, referência, "
        "artikelcode, numer, numer katalogowy, indeks, kod, číslo, артикул, номер, код"
    ),
)
NAME = Column(
    name="name",
    field="name",
    header="name",
    rule=rules.name,
    required=True,
    width=40,
    title="Name",
    called=_words(
        "pet, pet name, animal, animal name, designation, tier, tiername, bezeichnung, rufname, "
        "artikelbezeichnung, nom, désignation, nombre, denominación, nome, denominazione, designação, naam, "
        "omschrijving, nazwa, imię, jméno, název, кличка, имя, название, наименование"
    ),
    sentence="renamed {before} to {after}",
    verb="renamed it",
    undoing="undid a rename",
    hidden_on="",
)
CATEGORY = Column(
    name="category_id",
    field="categoryId",
    header="category",
    rule=rules.identifier,
    sql_type="bigint",
    required=True,
    width=24,
    title="Category",
    called=_words(
        "kind, type, species, group, art, tierart, kategorie, gattung, warengruppe, catégorie, espèce, categoría, "
        "especie, categoria, specie, espécie, categorie, soort, diersoort, gatunek, kategoria, druh, вид, "
        "категория"
    ),
    sentence="moved {name} to {after}",
    verb="moved it to another category",
    undoing="undid a move",
    hidden_on="phone",
)
STATUS = Column(
    name="status",
    field="status",
    header="status",
    rule=rules.status,
    default=PetStatus.AVAILABLE.value,
    width=12,
    title="Status",
    called=_words(
        "state, availability, stock, verfügbarkeit, verfügbar, lagerstatus, zustand, statut, disponibilité, état, "
        "estado, disponibilidad, stato, disponibilità, disponibilidade, beschikbaarheid, voorraad, dostępność, "
        "stan, dostupnost, stav, статус, наличие"
    ),
    sentence="marked {name} {after}",
    verb="marked it {after}",
    is_badge=True,
    hidden_on="",
)
COLUMNS = (REFERENCE, NAME, CATEGORY, STATUS)
"""In the order of an export."""

ON_PAGES = tuple(dict.fromkeys((NAME, STATUS, CATEGORY, *COLUMNS)))
"""In the order of a form, of a version, and of what a file says of a change."""

BY_NAME = {column.name: column for column in COLUMNS}

NAMES = tuple(BY_NAME)

SHOWN = tuple(column for column in COLUMNS if column.field)
"""Those of a Pet, in its order."""

ID = "id"
"""What the animal's own id is called in a file: it says which animal a row is about, and is never set."""

CATEGORY_ID = "categoryId"
"""What the category is called in a file that gives its id, as the API does."""

HEADERS = (
    ID,
    *(header for column in COLUMNS for header in (column.header, *([CATEGORY_ID] if column is CATEGORY else []))),
)
"""What the columns of a file can be called."""


class RowValues(NamedTuple):
    """A row that has passed the rules; None is blank. A category that will be created has a negative number."""

    line: int
    id: int | None = None
    """Of the animal that it is about."""
    external_reference: str | None = None
    name: str | None = None
    category_id: int | None = None
    status: str | None = None
    rejected: bool = False
    """Only its id and its reference count: no later row can be about the same animal."""


ColumnValues = Sequence[Sequence[Any]]
"""Many `RowValues`, column by column."""


def each(pattern: str, separator: str = ", ") -> str:
    """Return `pattern` once for each column, with its name for `{c}`; also its `{type}` and `{default}` in SQL."""
    return separator.join(
        pattern.format(c=column.name, type=column.sql_type, default=f"'{column.default}'" if column.default else "NULL")
        for column in COLUMNS
    )

"""What the categories and statuses of a supplier's file are in our words: guessed, for a person to correct."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from categories.models import Category
from categories.similar import Similar
from database.search import fold
from files.errors import FileError, printable
from files.readers.header import LONGEST_WORD, WORDS
from files.readers.rows import Block, DamagedRow, Reading, Row, Table
from pets.columns import CATEGORY, NAME, STATUS
from pets.models import ColumnProfile, PetStatus

EXAMPLES = 3
MOST_READ = 2_000  # rows at the beginning of a file; what else is not ours are errors of its rows
MOST_VALUES, MOST_OPTIONS = 50, 10_000  # that a column is asked about, and categories to choose from in all of them

STATUS_WORDS = {
    PetStatus.AVAILABLE: (
        "free, for sale, in stock, on sale, ready, active, yes",
        "lieferbar, verfügbar, vorrätig, auf lager, frei, zu verkaufen, zu haben",
        "disponible, en stock, à vendre, libre, dispo",
        "en venta, en existencia",
        "disponibile, in vendita, libero, libera",
        "disponível, à venda, em estoque, em stock, livre",
        "beschikbaar, op voorraad, te koop, leverbaar, vrij",
        "dostępny, dostępna, dostępne, na sprzedaż, wolny, wolna, w magazynie",
        "skladem, k dispozici, na prodej, volný, volná, dostupný, dostupné",
        "в наличии, доступен, доступна, есть, свободен, свободна, продаётся",
    ),
    PetStatus.PENDING: (
        "reserved, on hold, hold, held, booked, in process",
        "reserviert, vorgemerkt, vorbestellt, zurückgelegt",
        "réservé, réservée, en attente, option",
        "reservado, reservada, pendiente, apartado",
        "riservato, riservata, prenotato, prenotata, in attesa",
        "pendente, encomendado",
        "gereserveerd, in optie, in afwachting",
        "zarezerwowany, zarezerwowana, zarezerwowane, rezerwacja, oczekuje",
        "rezervováno, rezervovaný, rezervovaná, zamluveno, zadáno",
        "зарезервирован, зарезервирована, резерв, забронирован, забронирована, ожидает",
    ),
    PetStatus.SOLD: (
        "gone, out of stock, rehomed, no",
        "verkauft, vergeben, ausverkauft, weg",
        "vendu, vendue, épuisé",
        "vendido, vendida, agotado",
        "venduto, venduta, esaurito",
        "esgotado",
        "verkocht, uitverkocht",
        "sprzedany, sprzedana, sprzedane, brak",
        "prodáno, prodaný, prodaná, vyprodáno",
        "продан, продана, продано, нет",
    ),
}
"""English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Russian; without what is there above."""

ENDING = re.compile(r"(?<=\w{3})(?:ies|ie|y|es|en|e|n|s)$")


@dataclass(frozen=True)
class ForeignValue:
    """A value of the file that is none of ours, and what it seems to be."""

    header: str
    text: str
    rows: int
    animals: Sequence[str]  # the names in its first rows
    becomes: str | None  # as `Reading.values` has it; None without a guess
    supplier: str = ""  # whose choice the guess is
    is_chosen: bool = False  # for this file, or its supplier

    @property
    def field(self) -> str:
        """The name in a form, which stays with the value whatever others there are."""
        digest = hashlib.sha256(f"{self.header}:{self.text}".encode("utf-8", "surrogatepass"))
        return f"value-{digest.hexdigest()[:16]}"


@dataclass(frozen=True)
class MatchedColumn:
    """A column of categories or statuses: its values that are none of ours."""

    header: str
    values: Sequence[ForeignValue]  # those to ask about, new ones and frequent ones first
    more: int  # others
    ours: int  # that need no match


class Vocabulary:
    """Our categories and statuses, and what values of suppliers became them."""

    def __init__(self, how: Reading, *, adds: bool, may_add: bool) -> None:
        """`how` has what was chosen; `adds`: other categories are new ones; `may_add`: they can be."""
        self._adds, self._may_add = adds, may_add
        self.categories = list(Category.objects.order_by("name").values_list("name", flat=True))
        self._similar = Similar(self.categories)
        self._ours = {CATEGORY.header: set(self.categories), STATUS.header: {*PetStatus.values}}
        self.chosen = {header: self._possible(header, values) for header, values in how.values.items()}
        self._words: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)  # what is meant, and by whom
        for profile in ColumnProfile.objects.all():
            for header, values in (profile.values or {}).items():
                for text, ours in values.items():
                    self._words[header].setdefault(_stem(text), (self._now(header, text, ours), profile.name))
        for name in self.categories:
            self._words[CATEGORY.header].setdefault(_stem(name), (name, ""))
        for status, lines in STATUS_WORDS.items():
            for word in (status, *", ".join(lines).split(", ")):
                self._words[STATUS.header].setdefault(_stem(word), (status.value, ""))

    def has(self, header: str, text: str) -> bool:
        """Return whether a value is ours as it is."""
        return (text.lower() if header == STATUS.header else text) in self._ours[header]

    def value(self, header: str, text: str, rows: int, animals: Sequence[str]) -> ForeignValue:
        """Return a value of the file with what was chosen for it, or what it seems to be."""
        chosen = self.chosen.get(header, {}).get(text)
        if chosen is not None:
            return ForeignValue(header, text, rows, animals, chosen, is_chosen=True)
        becomes, supplier = self._words[header].get(_stem(text), (None, ""))
        if becomes is not None and self._can_be(header, text, becomes):
            return ForeignValue(header, text, rows, animals, becomes, supplier)
        is_category = header == CATEGORY.header
        becomes = (self._similar.find(text) or (text if self._adds else None)) if is_category else None
        return ForeignValue(header, text, rows, animals, becomes)

    def _possible(self, header: str, values: Mapping[str, str]) -> dict[str, str]:
        """Return what values become, by its name of now, without those that became what is no longer ours."""
        now = in_one_step({text: self._now(header, text, ours) for text, ours in values.items()})
        return {text: ours for text, ours in now.items() if self._can_be(header, text, ours)}

    def _now(self, header: str, text: str, ours: str) -> str:
        """Return the category that was chosen by the name that it has now. What became a new one stays new."""
        is_same = header != CATEGORY.header or text == ours or self.has(header, ours)
        return ours if is_same else self._renamed.get(ours, ours)

    @cached_property
    def _renamed(self) -> dict[str, str]:
        now = dict(Category.objects.values_list("pk", "name"))
        last = dict(Category.history.order_by("history_id").values_list("name", "id"))  # that had the name
        return {name: now[number] for name, number in last.items() if number in now}

    def _can_be(self, header: str, text: str, ours: str) -> bool:
        if not ours or header not in self._ours or self.has(header, ours):
            return True
        return ours == text and header == CATEGORY.header and self._may_add


def in_one_step(values: Mapping[str, str]) -> dict[str, str]:
    """Return what values become, without a value that another one becomes: it is ours by now, and stays what it is."""
    becoming = {ours for text, ours in values.items() if ours != text}
    return {text: ours for text, ours in values.items() if ours == text or text not in becoming}


def matched_columns(table: Table, words: Vocabulary, found: Iterable[tuple[str, str, int]] = ()) -> list[MatchedColumn]:
    """Return the columns that have values which are none of ours, at the beginning of the table or among `found`."""
    counts: dict[str, Counter[str]] = {header: Counter() for header in WORDS}
    animals: dict[tuple[str, str], list[str]] = defaultdict(list)
    with suppress(FileError):  # the check says what is wrong
        for _, cells in islice(_rows(table), MOST_READ):
            if isinstance(cells, DamagedRow):
                continue
            for header in counts.keys() & cells.keys():
                text = cells[header]
                if isinstance(text, str) and len(text) <= LONGEST_WORD:
                    counts[header][text] += 1
                    if len(names := animals[header, text]) < EXAMPLES and (name := cells.get(NAME.header)):
                        names.append(printable(str(name)))
    for header, text, rows in found:
        counts[header][text] = max(rows, counts[header][text])
    most = min(MOST_VALUES, MOST_OPTIONS // (len(words.categories) or 1))
    columns = []
    for header, texts in counts.items():
        foreign = [
            words.value(header, text, rows, animals[header, text])
            for text, rows in texts.most_common()
            if not words.has(header, text)
        ]
        if foreign:
            foreign.sort(key=lambda value: value.is_chosen)
            columns.append(MatchedColumn(header, foreign[:most], len(foreign[most:]), len(texts) - len(foreign)))
    return columns


def _rows(table: Table) -> Iterator[Row]:
    for part in table.parts:
        yield from part.one_by_one if isinstance(part, Block) else [part]


def _stem(text: str) -> str:
    """Return a word without case, accents, and what a plural ends in."""
    return ENDING.sub("", fold(text).strip(" .!"))

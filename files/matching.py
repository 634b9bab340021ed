"""Finds out how to read a supplier's file: its encoding, its header, and what each of its columns is."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product, zip_longest
from typing import NamedTuple

from django.db.models import Q

from files.doubts.encodings import LIKELY, OF_SEVERAL_BYTES, readings
from files.errors import FileError, HeaderError, ImportRejectedError, UndecodableError, quoted
from files.readers import first_rows, read, sheets
from files.readers.header import KNOWN, REMARKS, WORDS, named, names_of_columns, plain
from files.readers.rows import CoveredCells, FirstRows, Reading, Sheet, Table
from files.source import Source
from files.values import MatchedColumn, Vocabulary, matched_columns
from history.acting import acting
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, HEADERS, ID, NAME, REFERENCE
from pets.models import ColumnProfile, Pet

EXAMPLES = 3
MOST_COLUMNS = 200
"""Of a sheet that a person is asked about: a form can have 1,000 fields. Others are what they seem to be."""

Rows = Sequence[tuple[int, list[str]]]

FEWEST = 2  # titles of a supplier by which it is known again

CODE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9]+([-_./][A-Za-z0-9]+)*|[0-9]{4,}")

SHORT_ID = re.compile("[1-9][0-9]{0,17}")

MOST_READ, MOST_REFERENCES = 200, 2_000  # cells, or rows, by which an encoding is suggested, and their references
MOST_ENCODINGS, MOST_NAMED = 3, 5  # that a page shows at once, and a message
UPDATE = "Send it in the back office to update the profile."
LEAVE_OUT = " --ignore-unknown-columns leaves out what is no column of ours."


class SheetColumn(NamedTuple):
    """A column of the file: its title, its first values, and what it seems to be, "" for nothing of ours."""

    title: str
    values: Sequence[str]
    meaning: str


class FittingEncodings(NamedTuple):
    """Encodings that fit a file and read all of it the same."""

    names: Sequence[str]
    texts: Sequence[str]  # the first cells that read otherwise in others
    kept: int  # names of known animals that they keep, of so many at the beginning of the file
    known: int


class KnownSupplier(NamedTuple):
    """A supplier that had the titles of a file, or most of them."""

    supplier: str
    how: Reading
    new: Sequence[int] = ()  # columns of the file that it did not have
    missing: Sequence[str] = ()  # titles of what it had and an import needs


class ForeignIds(NamedTuple):
    """IDs at the beginning of a file that are likely those of another catalogue."""

    others: int  # that are other animals here
    rows: int
    pet: Pet  # the first of these animals
    name: str  # what the file has for it


class Choice(NamedTuple):
    """What a person said of how the file is read."""

    encoding: str | None
    sheet: int | None  # its number, from 1, among those of the `Match`
    header_row: int | None
    meanings: Sequence[str]  # of the first columns
    foreign: Sequence[tuple[str, str, int]] = ()  # values that a check found: header, text, rows


@dataclass(frozen=True)
class Match:
    """How a file seems to have to be read, for a person to correct."""

    how: Reading
    first: FirstRows
    sheets: Sequence[Sheet]  # to choose from; none for a workbook with a single one
    columns: Sequence[SheetColumn]  # the first `MOST_COLUMNS` of them
    encodings: Sequence[FittingEncodings]  # the likeliest first; none for a workbook or UTF-8
    supplier: str  # the one that is known, or ""
    known: KnownSupplier | None  # as which the columns are read
    foreign_ids: ForeignIds | None
    doubled: Sequence[str]  # names of animals that the file would add once more, as no column says which they are
    categories: Sequence[str]  # all of ours
    values: Sequence[MatchedColumn]  # those with values that are none of ours
    merged: Mapping[int, Sequence[CoveredCells]]  # cells of our columns below one that covers them


def understood(source: Source, how: Reading, *, adds: bool, may_add: bool) -> Reading | None:
    """Return how to read a file that is clear, perhaps by a profile; None if a person must say.

    `adds`: all missing categories are added; `may_add`: those that were chosen are. Raises `FileError` for a file that
    cannot be read in any way.
    """
    found = sheets(source, how)
    names, is_open = [sheet.name for sheet in found], len(found) > 1 or any(sheet.is_hidden for sheet in found)
    how = replace(how, sheet=None if is_open else next(iter(names), None))
    profiles = ColumnProfile.objects.filter(sheet__in=names) if is_open else ColumnProfile.objects.all()
    known = _remembered(source, how, list(profiles), names)
    if known.new or known.missing if known else is_open or not _is_clear_text(source, how):
        return None
    how = known.how if known else how
    try:
        table = read(source, how)
    except HeaderError:
        return None
    if how.fill_merged is None and going_down(table):
        return None
    words = Vocabulary(how, adds=adds, may_add=may_add)
    asked = [each for each in matched_columns(table, words) if not (adds and each.header == CATEGORY.header)]
    default = how.defaults.get(CATEGORY.header)
    is_clear = default in {None, *words.categories}
    if not is_clear or not all(value.is_chosen for column in asked for value in column.values):
        return None
    return replace(how, values=words.chosen)


def match(source: Source, how: Reading, choice: Choice, *, adds: bool, may_add: bool) -> Match:
    """Return the likeliest reading of a file, or the one that was chosen before for it or its supplier.

    `adds` and `may_add` are those of `understood`. Raises `FileError`.
    """
    encoding, number, header_row, meanings, foreign = choice
    found_sheets = sheets(source, how)
    names = [sheet.name for sheet in found_sheets]
    sheet = dict(enumerate(names, 1)).get(number or 0, how.sheet)
    how = replace(how, sheet=sheet or _likeliest(found_sheets), columns=how.columns if sheet == how.sheet else None)
    profiles = list(ColumnProfile.objects.all())
    known = _remembered(source, replace(how, encoding=None), profiles, () if sheet else names)
    supplier = known.supplier if known else ""
    if known is None or how.columns is not None:
        known = KnownSupplier("", how)
    found = [] if _is_clear_text(source, replace(how, encoding=None)) else _encodings(source)
    fitting = [name for each in found for name in each.names]
    likely = next((name for name in (encoding, known.how.encoding, *fitting[:1]) if name in fitting), None)
    how = replace(known.how, encoding=likely)
    first = first_rows(source, how)
    if how.columns is None or how != known.how or header_row not in {None, how.header_row}:
        known, how = KnownSupplier("", how), replace(how, columns=None, header_row=header_row or 1)
    at = _header_at(first.rows, header_row if how.columns is None else how.header_row)
    (line, titles), *below = first.rows[at:] or [(1, [])]
    words = Vocabulary(how, adds=adds, may_add=may_add)
    columns, foreign_ids = _meanings(titles, [cells for _, cells in below], words, known._replace(how=how))
    for at, meaning in enumerate(meanings[: len(columns)]):
        columns[at] = columns[at]._replace(meaning=meaning)
    how = replace(
        how,
        header_row=line,
        columns=[column.meaning for column in columns],
        delimiter=first.delimiter,
        values=words.chosen,
    )
    table = Table(iter(()))
    with suppress(FileError):  # the check says what is wrong
        table = read(source, replace(how, fill_merged=how.fill_merged is not False))
    values = matched_columns(table, words, foreign)
    of_supplier = known if known.supplier else None
    doubled = _doubled(columns)
    return Match(
        *(how, first, found_sheets, columns[:MOST_COLUMNS], found, supplier, of_supplier),
        *(foreign_ids, doubled, words.categories, values, going_down(table)),
    )


def going_down(table: Table) -> dict[int, list[CoveredCells]]:
    """Return the cells below one that covers them, by the place of the column."""
    down = {at: [each for each in groups if each.goes_down] for at, groups in table.merged.items()}
    return {at: groups for at, groups in down.items() if groups}


def _meanings(
    titles: Sequence[str], below: Sequence[Sequence[str]], words: Vocabulary, known: KnownSupplier
) -> tuple[list[SheetColumn], ForeignIds | None]:
    """Return the columns as their supplier had them, else as they are guessed, without the IDs of another catalogue."""
    columns = _columns(titles, below, words)
    if known.how.columns is not None:
        return _as_before(columns, known), None
    foreign_ids = _foreign_ids(columns, below)
    if foreign_ids is not None:
        columns = [column._replace(meaning="") if column.meaning == ID else column for column in columns]
    return columns, foreign_ids


def _as_before(columns: Sequence[SheetColumn], known: KnownSupplier) -> list[SheetColumn]:
    """Return the columns as their supplier had them; new ones are guessed among what is left."""
    former = known.how.columns or ()
    left = {column.meaning for column in columns} - {*former}
    found = []
    for at, column in enumerate(columns):
        guess = column.meaning if column.meaning in left else ""
        found.append(column._replace(meaning=guess if at in known.new else former[at]))
    return found


def _foreign_ids(columns: Sequence[SheetColumn], below: Sequence[Sequence[str]]) -> ForeignIds | None:
    """Return the IDs if most of them are animals with another name, and another reference if the file has one."""
    at = {column.meaning: number for number, column in enumerate(columns)}
    if ID not in at:
        return None

    def cell(row: Sequence[str], header: str) -> str:
        return next(iter(row[at[header] :]), "") if header in at else ""

    rows = {cell(row, ID): row for row in below if cell(row, ID)}
    pets = Pet.objects.filter(pk__in=[int(text) for text in rows if SHORT_ID.fullmatch(text)]).order_by("pk")
    names = {pet.pk: cell(rows[str(pet.pk)], NAME.header) for pet in pets}
    others = [
        pet
        for pet in pets
        if names[pet.pk] not in {"", pet.name} and cell(rows[str(pet.pk)], REFERENCE.header) != pet.external_reference
    ]
    if 2 * len(others) <= len(rows):
        return None
    return ForeignIds(len(others), len(rows), others[0], names[others[0].pk])


def _doubled(columns: Sequence[SheetColumn]) -> list[str]:
    """Return which of the first names are animals, if no column says which animal a row is about."""
    first = {name for column in columns if column.meaning == NAME.header for name in column.values}
    names = {name for name in first if name.strip() and "\0" not in name}  # PostgreSQL has no NUL
    if {ID, REFERENCE.header} & {column.meaning for column in columns} or not names:
        return []
    same = Q()
    for name in names:
        same |= Q(name=name) & Q(name__matches=name)  # the index has folded names
    return sorted(set(Pet.objects.filter(same).values_list("name", flat=True)[:MOST_READ]))


def remember(name: str, source: Source, how: Reading, *, supplier: str) -> None:
    """Keep how a file is read, for the next one with its header; raises `ImportRejectedError` if the name is taken.

    `supplier`: whose profile the file was read by, and which can get another header.
    """
    titles = next(cells for line, cells in first_rows(source, how).rows if line >= how.header_row)
    header = [plain(title) for title in titles]
    if name != supplier and ColumnProfile.objects.filter(name=name).exclude(header=header).exists():
        message = f"{quoted(name)} is the name of other columns. Choose another name, or delete those first."
        raise ImportRejectedError(message)
    kept = {"name": name, "columns": list(how.columns or ()), "saved_by": acting().actor[:150]}
    if how.encoding is not None or not source.is_text_in("ascii"):  # ASCII says nothing of the next file
        kept["encoding"] = how.encoding or ""
    chosen = {"header": header, "defaults": how.defaults, "values": how.values}
    of_workbook = {"sheet": how.sheet or "", "fill_merged": how.fill_merged}
    same = {"name": name} if name == supplier else {"header": header}
    ColumnProfile.objects.update_or_create(**same, defaults={**kept, **chosen, **of_workbook})


def by_profile(source: Source, how: Reading, name: str) -> Reading:
    """Return how a file is read by the profile of this name; raises `ImportRejectedError`."""
    profiles = list(ColumnProfile.objects.filter(name=name))
    if not profiles:
        names = named(list(ColumnProfile.objects.values_list("name", flat=True))) or "none"
        message = f"There is no profile {quoted(name)}. Profiles: {names}."
        raise ImportRejectedError(message)
    kept = replace(how, values=profiles[0].values or {})
    profiles[0].values = Vocabulary(kept, adds=False, may_add=True).chosen
    if how.sheet is None and profiles[0].sheet in {sheet.name for sheet in sheets(source, how)}:
        how = replace(how, sheet=profiles[0].sheet)
    if (known := _remembered(source, how, profiles)) is not None:
        return _complete(source, how, known)
    if any(REMARKS[0] in cells for _, cells in first_rows(source, how).rows):  # rejects, with our own titles
        return _chosen(profiles[0], how)
    message = f"None of the first rows has the columns of {quoted(name)}: {named(profiles[0].header)}."
    raise FileError(message)


def _complete(source: Source, how: Reading, known: KnownSupplier) -> Reading:
    """Return how the file is read; raises `FileError` if its supplier had other columns."""
    titles = next(cells for line, cells in first_rows(source, known.how).rows if line == known.how.header_row)
    ours = names_of_columns(how)
    new = [titles[at] for at in known.new if not how.ignore_unknown or plain(titles[at]) in ours]
    what = [f"has new columns: {named(new)}"] if new else []
    what += [f"lacks {named(known.missing)}"] if known.missing else []
    if what:
        message = f"The file {' and '.join(what)}. {quoted(known.supplier)} is known with other columns. {UPDATE}"
        raise FileError(message + LEAVE_OUT * bool(new))
    return known.how


def _chosen(profile: ColumnProfile, how: Reading) -> Reading:
    """Return the reading with the defaults and values of a profile, except where it has its own."""
    kept, fills = profile.values or {}, profile.fill_merged if how.fill_merged is None else how.fill_merged
    values = {header: {**kept.get(header, {}), **how.values.get(header, {})} for header in kept.keys() | how.values}
    return replace(how, defaults={**profile.defaults, **how.defaults}, values=values, fill_merged=fills)


def _remembered(
    source: Source, how: Reading, profiles: Sequence[ColumnProfile], names: Sequence[str] = ()
) -> KnownSupplier | None:
    """Return the profile whose header is one of the first rows, or else one that has most of its titles there.

    They are those of its own sheet if that is one of `names`.
    """
    is_clear = not profiles or _is_clear_text(source, how)
    alike: dict[tuple[str | None, str | None], list[ColumnProfile]] = defaultdict(list)
    for profile in profiles:
        encoding = how.encoding if is_clear else profile.encoding or "utf-8"
        alike[encoding, profile.sheet if profile.sheet in names else how.sheet].append(profile)
    found: dict[int, KnownSupplier] = {}  # by how many titles differ
    for (encoding, sheet), some in alike.items():
        if not is_clear and not source.is_text_in(encoding or "utf-8"):
            continue
        how = replace(how, encoding=encoding, sheet=sheet)
        first = first_rows(source, how)
        for (line, cells), profile in product(first.rows, some):
            mine = replace(how, header_row=line, delimiter=first.delimiter)
            header = [plain(cell) for cell in cells]
            if (known := _known(profile, header, mine)) is not None:
                found.setdefault(0 if header == profile.header else 1 + len({*header} ^ {*profile.header}), known)
    return found[min(found)] if found else None


def _known(profile: ColumnProfile, header: Sequence[str], how: Reading) -> KnownSupplier | None:
    """Return how a profile reads a header: it is its own, or it has most of its titles, in any order."""
    how = _chosen(profile, how)
    if header == profile.header:
        return KnownSupplier(profile.name, replace(how, columns=profile.columns))
    columns = dict(zip(profile.header, profile.columns, strict=True))
    shared = columns.keys() & {*header}
    is_ours = {*header} <= KNOWN.keys()
    if is_ours or len({*header}) < len(header) or 2 * len(shared) <= len(profile.header) or len(shared) < FEWEST:
        return None
    new = [at for at, title in enumerate(header) if title not in columns]
    missing = [title for title, column in columns.items() if column and title not in shared]
    how = replace(how, columns=[columns.get(title, "") for title in header])
    return KnownSupplier(profile.name, how, new, missing)


def _is_clear_text(source: Source, how: Reading) -> bool:
    """Return whether the encoding is known: it is given, marked, or UTF-8, or there is none."""
    if how.encoding is not None or source.format() != "csv" or source.encoding() != "utf-8":
        return True
    return source.is_text_in("utf-8")


def _encodings(source: Source) -> list[FittingEncodings]:
    """Return the encodings that fit the file, those that keep most names and look likeliest first."""
    (kept, known), cells = _names_kept(source), _odd_cells(source)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, texts in sorted(readings(cells).items(), key=lambda reading: -kept[reading[0]]):
        if name not in OF_SEVERAL_BYTES or source.is_text_in(name):
            alike.setdefault(tuple(texts), []).append(name)
    shown = list(zip(*list(alike)[:MOST_ENCODINGS], strict=True))
    first = sorted(range(len(shown)), key=lambda at: -len({*shown[at]}))[:EXAMPLES]
    return [
        FittingEncodings(names, [texts[at] for at in first], kept[names[0]], known) for texts, names in alike.items()
    ]


def _odd_cells(source: Source) -> list[bytes]:
    """Return the first cells that are not ASCII, and others until all bytes that are not are in one."""
    found: dict[bytes, None] = {}
    missing = set(map(chr, range(0x80, 0x100)))

    def is_needed(text: str) -> bool:
        return not text.isascii() and (len(found) < MOST_READ or not missing.isdisjoint(text))

    for row in _rows(source, is_needed):
        for cell in row:
            if is_needed(text := cell.decode("iso8859-1")):
                found[cell] = None
                missing.difference_update(text)
    return list(found)


def _names_kept(source: Source) -> tuple[Mapping[str, int], int]:
    """Return how many names of known animals the beginning of a file keeps in each likely encoding, and of how many."""
    rows = list(islice(_rows(source), MOST_READ))
    references = [cell.decode() for row in rows for cell in row if cell.isascii()][:MOST_REFERENCES]
    animals = Pet.objects.filter(external_reference__in=references).values_list("external_reference", "name")
    names = {reference: name for reference, name in animals if not name.isascii()}
    kept: Counter[str] = Counter()
    count = 0
    for row in rows:
        known = {names[cell.decode()] for cell in row if cell.isascii() and cell.decode() in names}
        count += bool(known)
        for encoding in LIKELY:
            kept[encoding] += not known.isdisjoint(
                cell.decode(encoding, "replace") for cell in row if not cell.isascii()
            )
    return kept, count


def with_encodings(source: Source, error: UndecodableError) -> FileError:
    """Return the error with how a cell reads in the likeliest encodings, for a person to choose by."""
    fitting: list[FittingEncodings] = []
    with suppress(FileError):  # a line is too long to show
        fitting = _encodings(source)
    shown = [f"{quoted(text)} in {names[0]}" for names, texts, *_ in fitting[:MOST_NAMED] for text in texts[:1]]
    advice = f" Set the encoding to the one that shows this correctly: {', '.join(shown)}." if shown else ""
    return FileError(f"{error}{advice}")


def _rows(source: Source, is_needed: Callable[[str], bool] = lambda line: not line.isascii()) -> Iterator[list[bytes]]:
    """Yield the cells of the lines that are not ASCII, as bytes: delimiters and quotes are as in ASCII everywhere."""
    delimiter = first_rows(source, Reading(encoding="iso8859-1")).delimiter or ","
    for line in source.lines("iso8859-1"):
        if is_needed(line):
            cells = line.split("\t" if delimiter == "tab" else delimiter)
            yield [cell.strip(' "\r\n').encode("iso8859-1") for cell in cells]


def _likeliest(sheets: Sequence[Sheet]) -> str | None:
    """Return the first sheet that looks like a table, with names in one row and values below; one that knows ours."""

    def worth(sheet: Sheet) -> tuple[bool, bool, int]:
        titles, below = header_of(sheet.rows), [cells for _, cells in sheet.rows[_header_at(sheet.rows) + 1 :]]
        is_table = len({*titles} - {""}) == len(titles) > 1 and any(sum(map(bool, cells)) > 1 for cells in below)
        return not sheet.is_hidden, is_table, _known_titles(titles)

    return max(sheets, key=worth).name if sheets else None


def header_of(rows: Rows) -> list[str]:
    """Return what is likely the header."""
    return rows[_header_at(rows)][1]


def _header_at(rows: Rows, line: int | None = None) -> int:
    """Return which of the rows is the header: the one in this line, or the one with most titles that are known."""
    at = next((at for at, row in enumerate(rows) if row[0] == line), None)
    if at is not None:
        return at
    widest = max((len(cells) for _, cells in rows), default=0)

    def worth(at: int) -> tuple[int, bool]:
        cells = rows[at][1]
        return _known_titles(cells), len(cells) == widest and all(cells)

    return max(range(len(rows)), key=worth, default=0)


def _known_titles(cells: Sequence[str]) -> int:
    called = KNOWN.keys() | set().union(*(column.called for column in COLUMNS))
    return sum(_word(cell) in called for cell in cells)


def _word(title: str) -> str:
    return plain(title).strip(".:# ")


def _columns(titles: Sequence[str], below: Sequence[Sequence[str]], words: Vocabulary) -> list[SheetColumn]:
    """Return the columns under a header with what each is likely to be: by its title, or else by its values."""
    taken: set[str] = set()
    found = []
    columns = [(title, _word(title), [row[at] for row in below if at < len(row)]) for at, title in enumerate(titles)]
    references = [values for _, word, values in columns if word in REFERENCE.called and not _are_counted(values)]
    for title, word, values in columns:
        meaning = _meaning(word, {value for value in values if value}, words)
        if references and values not in references and word in REFERENCE.called and word not in KNOWN:
            meaning = ""
        if meaning in taken or (meaning in {CATEGORY.header, CATEGORY_ID} and taken & {CATEGORY.header, CATEGORY_ID}):
            meaning = ""
        taken.add(meaning)
        found.append(SheetColumn(title, list(dict.fromkeys(values))[:EXAMPLES], meaning))
    codes = () if taken & {ID, REFERENCE.header} else map(_are_codes, zip_longest(*below, fillvalue=""))
    if (codes_at := next((at for at, are in enumerate(codes) if are and not found[at].meaning), None)) is not None:
        found[codes_at] = found[codes_at]._replace(meaning=REFERENCE.header)
    return found


def _are_counted(values: Sequence[str]) -> bool:
    """Return whether these only number the rows, so that the next file has them for other animals."""
    numbers = [value for value in values if value]
    return len(numbers) > 1 and numbers == [str(number) for number in range(1, len(numbers) + 1)]


def _are_codes(values: Sequence[str]) -> bool:
    """Return whether these are likely references: different, with digits, and letters or always as many digits."""
    like_codes = all(map(CODE.fullmatch, values)) and len({*values}) == len(values) > 1
    return like_codes and (not any(map(str.isdecimal, values)) or len({*map(len, values)}) == 1)


def _meaning(word: str, values: set[str], words: Vocabulary) -> str:
    if (known := KNOWN.get(word)) in HEADERS:
        return known or ""
    for header in WORDS:
        if values and all(words.has(header, value) for value in values):
            return header
    return next((column.header for column in COLUMNS if word in column.called), "")

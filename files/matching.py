"""Finds out how to read a supplier's file: its encoding, its header, and what each of its columns is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import NamedTuple

from categories.models import Category
from files.doubts import LIKELY, OF_SEVERAL_BYTES, readings
from files.errors import FileError, HeaderError, ImportRejectedError, quoted
from files.readers import first_rows, read
from files.readers.header import KNOWN, REMARKS, columns_of, named, plain
from files.readers.rows import AHEAD, FirstRows, Reading
from files.source import Source, UndecodableError
from files.values import MatchedColumn, Vocabulary, matched_columns
from pets.columns import CATEGORY, CATEGORY_ID, COLUMNS, HEADERS, STATUS
from pets.models import ColumnProfile, Pet, PetStatus

EXAMPLES = 3
MOST_COLUMNS = 200
"""Of a sheet that a person is asked about: a form can have 1,000 fields. Others are what they seem to be."""

MOST_READ, MOST_REFERENCES = 200, 2_000  # cells, or rows, by which an encoding is suggested, and their references


class SheetColumn(NamedTuple):
    """A column of the file: its title, its first values, and what it seems to be, "" for nothing of ours."""

    title: str
    values: Sequence[str]
    meaning: str


class Choice(NamedTuple):
    """What a person said of how the file is read."""

    encoding: str | None
    header_row: int | None
    meanings: Sequence[str]  # of the first columns


@dataclass(frozen=True)
class Match:
    """How a file seems to have to be read, for a person to correct."""

    how: Reading
    first: FirstRows
    columns: Sequence[SheetColumn]  # the first `MOST_COLUMNS` of them
    encodings: Mapping[str, Sequence[str]]  # the first names in each that fits; none for a workbook or UTF-8
    profile: str  # the name of the supplier if the header is known
    categories: Sequence[str]  # all of ours
    values: Sequence[MatchedColumn]  # those with values that are none of ours


def understood(source: Source, how: Reading, *, adds: bool, may_add: bool) -> Reading | None:
    """Return how to read a file that is clear, perhaps by a profile; None if a person must say.

    `adds`: all missing categories are added; `may_add`: those that were chosen are. Raises `FileError` for a file that
    cannot be read in any way.
    """
    _, known = _remembered(source, how) or ("", how)
    if known is how and not _is_clear_text(source, how):
        return None
    try:
        read(source, known)
    except HeaderError:
        return None
    columns = matched_columns(source, known, Vocabulary(known, adds=adds, may_add=may_add))
    asked = [column for column in columns if not (adds and column.header == CATEGORY.header)]
    is_clear = all(value.is_chosen for column in asked for value in column.values)
    return known if is_clear else None


def match(source: Source, how: Reading, choice: Choice, *, adds: bool, may_add: bool) -> Match:
    """Return the likeliest reading of a file, or the one that was chosen before for it or its supplier.

    `adds` and `may_add` are those of `understood`. Raises `FileError`.
    """
    encoding, header_row, meanings = choice
    profile, known = _remembered(source, how) or ("", how)
    if how.columns is not None:
        known = how
    found = {} if _is_clear_text(source, replace(how, encoding=None)) else _encodings(source)
    likely = known.encoding if known.encoding in found else next(iter(found), None)
    how = replace(known, encoding=encoding if encoding in found else likely)
    first = first_rows(source, how)
    is_known = known.columns is not None and how == known and header_row in {None, known.header_row}
    at = _header_at(first, known.header_row if is_known else header_row)
    (line, titles), *below = first.rows[at:] or [(1, [])]
    columns = _columns(titles, [cells for _, cells in below])
    chosen = [*meanings, *((known.columns or ()) if is_known else ())[len(meanings) :]]
    for at, meaning in enumerate(chosen[: len(columns)]):
        columns[at] = columns[at]._replace(meaning=meaning)
    how = replace(how, header_row=line, columns=[column.meaning for column in columns], delimiter=first.delimiter)
    words = Vocabulary(how, adds=adds, may_add=may_add)
    values = matched_columns(source, how, words)
    return Match(how, first, columns[:MOST_COLUMNS], found, profile, words.categories, values)


def remember(name: str, source: Source, how: Reading, *, who: str) -> None:
    """Keep how a file is read, for the next one with its header; raises `ImportRejectedError` if that is impossible."""
    titles = next((cells for line, cells in first_rows(source, how).rows if line >= how.header_row), None)
    if titles is None:
        message = f"The header is not in the first {AHEAD} lines, so its columns cannot be remembered."
        raise ImportRejectedError(message)
    header = [plain(title) for title in titles]
    if ColumnProfile.objects.filter(name=name).exclude(header=header).exists():
        message = f"{quoted(name)} is the name of other columns. Choose another name, or delete those first."
        raise ImportRejectedError(message)
    kept = {"name": name, "columns": columns_of(titles, how), "encoding": how.encoding or "", "saved_by": who}
    chosen = {"defaults": how.defaults, "values": how.values}
    ColumnProfile.objects.update_or_create(header=header, defaults={**kept, **chosen})


def by_profile(source: Source, how: Reading, name: str) -> Reading:
    """Return how a file is read by the profile of this name; raises `ImportRejectedError`."""
    profiles = list(ColumnProfile.objects.filter(name=name))
    if not profiles:
        raise ImportRejectedError(no_profile(name))
    if (found := _remembered(source, how, profiles)) is not None:
        return found[1]
    if any(REMARKS[0] in cells for _, cells in first_rows(source, how).rows):  # rejects, with our own titles
        return _chosen(profiles[0], how)
    message = f"None of the first rows has the columns of {quoted(name)}: {named(profiles[0].header)}."
    raise FileError(message)


def no_profile(name: str) -> str:
    """Return the sentence that there is none of this name, with the names that there are."""
    names = named(list(ColumnProfile.objects.values_list("name", flat=True))) or "none"
    return f"There is no profile {quoted(name)}. Profiles: {names}."


def _chosen(profile: ColumnProfile, how: Reading) -> Reading:
    """Return the reading with the defaults and values of a profile, except where it has its own."""
    kept = profile.values or {}
    values = {header: {**kept.get(header, {}), **how.values.get(header, {})} for header in kept.keys() | how.values}
    return replace(how, defaults={**profile.defaults, **how.defaults}, values=values)


def _remembered(
    source: Source, how: Reading, profiles: Sequence[ColumnProfile] | None = None
) -> tuple[str, Reading] | None:
    """Return the name of the profile whose header is one of the first rows, and its reading."""
    profiles = list(ColumnProfile.objects.all()) if profiles is None else profiles
    is_clear = not profiles or _is_clear_text(source, how)
    encodings = dict.fromkeys(how.encoding if is_clear else profile.encoding or "utf-8" for profile in profiles)
    for encoding in encodings:
        if not is_clear and not source.is_text_in(encoding or "utf-8"):
            continue
        mine = replace(how, encoding=encoding)
        first = first_rows(source, mine)
        for (line, cells), profile in product(first.rows, profiles):
            if [plain(cell) for cell in cells] == profile.header and (is_clear or profile.encoding == encoding):
                mine = replace(mine, header_row=line, columns=profile.columns, delimiter=first.delimiter)
                return profile.name, _chosen(profile, mine)
    return None


def _is_clear_text(source: Source, how: Reading) -> bool:
    """Return whether the encoding is known: it is given, marked, or UTF-8, or there is none."""
    if how.encoding is not None or source.format() != "csv" or source.encoding() != "utf-8":
        return True
    return source.is_text_in("utf-8")


def _encodings(source: Source) -> dict[str, list[str]]:
    """Return how the first names that are not ASCII read in each encoding that fits the file, the likeliest first."""
    letters, kept = source.letters(), kept_names(source)
    cells = list(
        dict.fromkeys(islice((cell for row in _rows(source) for cell in row if not cell.isascii()), MOST_READ))
    )
    fitting: dict[str, list[str]] = {}
    alike = set()
    for name, texts in sorted(readings(cells).items(), key=lambda reading: -kept[reading[0]]):
        if name in OF_SEVERAL_BYTES:
            fits = source.is_text_in(name)
        else:  # those that read all of the file the same are one
            read = letters.decode(name, "ignore")
            fits = len(read) == len(letters) and read not in alike
            alike.add(read)
        if fits:
            fitting[name] = texts[:EXAMPLES]
    return fitting


def kept_names(source: Source) -> Counter[str]:
    """Return how many names of known animals the beginning of a file has in each likely encoding."""
    rows = list(islice(_rows(source), MOST_READ))
    references = [cell.decode() for row in rows for cell in row if cell.isascii()][:MOST_REFERENCES]
    names = dict(Pet.objects.filter(external_reference__in=references).values_list("external_reference", "name"))
    kept: Counter[str] = Counter()
    for row in rows:
        known = {names[cell.decode()] for cell in row if cell.isascii() and cell.decode() in names}
        for encoding in LIKELY:
            kept[encoding] += not known.isdisjoint(
                cell.decode(encoding, "replace") for cell in row if not cell.isascii()
            )
    return kept


def by_known_names(source: Source, error: UndecodableError) -> UndecodableError:
    """Return the error with the encodings in the order of the names that they keep."""
    return UndecodableError(error.sentence, error.word, kept_names(source))


def _rows(source: Source) -> Iterator[list[bytes]]:
    """Yield the cells of the lines that are not ASCII, as bytes: delimiters and quotes are as in ASCII everywhere."""
    delimiter = first_rows(source, Reading(encoding="iso8859-1")).delimiter or ","
    for line in source.lines("iso8859-1"):
        if not line.isascii():
            cells = line.split("\t" if delimiter == "tab" else delimiter)
            yield [cell.strip(' "\r\n').encode("iso8859-1") for cell in cells]


def _header_at(first: FirstRows, line: int | None) -> int:
    """Return which of the rows is the header: the one in this line, or the one with most titles that are known."""
    at = next((at for at, row in enumerate(first.rows) if row[0] == line), None)
    if at is not None:
        return at
    called = KNOWN.keys() | set().union(*(column.called for column in COLUMNS))
    widest = max((len(cells) for _, cells in first.rows), default=0)

    def worth(at: int) -> tuple[int, bool]:
        cells = first.rows[at][1]
        return sum(_word(cell) in called for cell in cells), len(cells) == widest and all(cells)

    return max(range(len(first.rows)), key=worth, default=0)


def _word(title: str) -> str:
    return plain(title).strip(".:# ")


def _columns(titles: Sequence[str], below: Sequence[Sequence[str]]) -> list[SheetColumn]:
    """Return the columns under a header with what each is likely to be: by its title, or else by its values."""
    categories = set(Category.objects.values_list("name", flat=True))
    taken: set[str] = set()
    found = []
    for at, title in enumerate(titles):
        values = [row[at] for row in below if at < len(row)]
        meaning = _meaning(_word(title), {value for value in values if value}, categories)
        if meaning in taken or (meaning in {CATEGORY.header, CATEGORY_ID} and taken & {CATEGORY.header, CATEGORY_ID}):
            meaning = ""
        taken.add(meaning)
        found.append(SheetColumn(title, list(dict.fromkeys(values))[:EXAMPLES], meaning))
    return found


def _meaning(word: str, values: set[str], categories: set[str]) -> str:
    if (known := KNOWN.get(word)) in HEADERS:
        return known or ""
    if values and values <= categories:
        return CATEGORY.header
    if values and {value.lower() for value in values} <= set(PetStatus.values):
        return STATUS.header
    return next((column.header for column in COLUMNS if word in column.called), "")

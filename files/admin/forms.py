"""The forms of an import: the file with its options, and how a supplier's file is read, which a person says."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

from django import forms
from django.conf import settings

from files.doubts.encodings import LIKELY
from files.errors import printable
from files.matching import Choice, Match, header_of
from files.options import MOST_ROWS
from files.page import SHOWN
from files.readers.header import KNOWN, plain
from files.readers.rows import AHEAD, Reading, covering
from files.readers.workbook import letters_of
from files.values import ForeignValue, MatchedColumn, in_one_step
from pets.columns import CATEGORY, CATEGORY_ID, ID, NAME, STATUS
from pets.models import PetStatus

BLANKS = (("keep", "Leaves the animal as it is"), ("clear", "Clears the status, to available"))


class UploadForm(forms.Form):
    """The file, and what `import_pets` has options for."""

    file = forms.FileField(
        help_text=f"CSV or XLSX, at most {settings.LARGEST_UPLOAD // 2**20} MB and {MOST_ROWS:,} rows",
        error_messages={"required": "Choose a file."},
        widget=forms.FileInput({"accept": ".csv,.xlsx"}),
    )
    create_categories = forms.BooleanField(
        required=False, label="Add missing categories", help_text="Otherwise you are asked what they become."
    )
    blank = forms.ChoiceField(choices=BLANKS, label="A blank cell", help_text="Of a row whose animal is there already.")
    formula_safe = forms.BooleanField(
        required=False,
        initial=True,
        label="Drop a ' in front of a formula",
        help_text="Exports of the back office have it before what a spreadsheet would take for a formula.",
    )

    def __init__(self, *args: Any, may_add_categories: bool) -> None:
        """Offer to add categories to people with permission to."""
        super().__init__(*args)
        if not may_add_categories:
            self.fields["create_categories"].disabled = True
            self.fields["create_categories"].help_text = "You don't have permission to add categories."

    def options(self) -> list[forms.BoundField]:
        return [field for field in self if field.name != "file"]

    def in_short(self) -> str:
        """Return what the options say, for as long as they are closed."""
        blanks = "clear the status" if self["blank"].value() == "clear" else "keep the value"
        categories = "are added" if self["create_categories"].value() else "are asked about"
        return f"Blank cells {blanks} · missing categories {categories}"


MEANINGS = (
    *((header, column.title) for header, column in SHOWN.items()),
    (CATEGORY_ID, "Category's ID"),
    (ID, "Animal's ID"),
    ("", "Leave out"),
)
SHOWN_ROWS, SHOWN_COLUMNS = 8, 8


class ReadingForm(forms.Form):
    """How the file is read; `read` is how it was when the page was shown, for which its columns were chosen."""

    encoding = forms.CharField(required=False)
    sheet = forms.IntegerField(required=False)
    header = forms.IntegerField(required=False)
    read = forms.RegexField(r"^[^:]*:[0-9]{0,9}:[0-9]{1,9}$", required=False)
    again = forms.CharField(required=False)

    def choice(self) -> Choice:
        cleaned, moved = self._valid(), self.moved()
        names = takewhile(self.data.__contains__, (f"column-{at}" for at in count()))
        meanings = [] if moved else [self.data[name] for name in names]
        row = None if moved == "sheet" else cleaned.get("header")  # else it is one of the former sheet
        return Choice(cleaned.get("encoding"), cleaned.get("sheet"), row, meanings)

    def moved(self) -> str:
        """Return which of sheet, encoding and row is another one now, so that the columns are others; "" for none."""
        if not self.data:
            return ""
        cleaned = self._valid()
        encoding, sheet, row = (cleaned.get("read") or "::").split(":")
        former = {"sheet": sheet, "encoding": encoding, "header": row}
        other = (name for name, value in former.items() if cleaned.get(name) and str(cleaned[name]) != value)
        return next(other, cleaned.get("again", "again"))

    def _valid(self) -> dict[str, Any]:
        return self.cleaned_data if self.is_valid() else {}


NEW, LEFT_OUT, OURS = "+", "-", "="
"""What a value becomes, as the form has it; behind `OURS` comes the category or status."""


class ColumnsForm(forms.Form):
    """What each column and value is, what new animals get that have none, and a name to remember all that."""

    category = forms.ChoiceField(required=False, label="Category")
    status = forms.ChoiceField(required=False, label="Status", choices=PetStatus.choices)
    fill_merged = forms.BooleanField(required=False)
    remember = forms.BooleanField(required=False)
    called = forms.CharField(required=False, max_length=60, label="Files from")

    def __init__(self, data: Any, match: Match, *, file_name: str, may_add_categories: bool) -> None:
        """Ask about the columns of `match`; `data` is None for its first showing."""
        self.match = match
        values = [value for column in match.values for value in column.values]
        fields = {value.field for value in values} | ({"merged"} if match.merged else set())
        self.unseen = data is not None and not data.keys() >= fields
        """Whether there are values or merged cells that the page did not show, as the columns were others."""
        asked = [value for value in values if not (match.known and value.is_chosen)]
        self.foreign, self.open = len(asked), sum(value.becomes is None for value in asked)
        if self.unseen:
            data = {value.field: _choice(value) for value in values} | data.dict()
            data |= {} if "merged" in data else {"fill_merged": "on"}
        title = next((cells[0] for line, cells in match.first.rows if line < match.how.header_row), "")
        called = title.partition(":")[0].strip()[:60] or file_name.rpartition(".")[0][:60]
        called = match.supplier or called
        is_ours = all(plain(column.title) in KNOWN for column in match.columns)
        super().__init__(
            data,
            initial={
                "remember": bool(match.supplier) or not is_ours,
                "called": called,
                "fill_merged": match.how.fill_merged is not False,
                **match.how.defaults,
            },
        )
        for field in (self.fields["category"], self.fields["status"], self.fields["called"]):
            field.widget.attrs["class"] = "input"
        names = [(name, name) for name in match.categories]
        self.fields["category"].choices = [("", "No default: the row is an error"), *names]  # type: ignore[attr-defined]  # of a ChoiceField
        default = match.how.defaults.get(CATEGORY.header, "")
        self.gone = "" if default in match.categories else default
        """The default category that a supplier had, and that was deleted or renamed since; "" if it is there."""
        if self.gone:
            self.initial[CATEGORY.header] = ""
        ours: dict[str, list[Any]] = {
            CATEGORY.header: [("Categories", [(f"{OURS}{name}", name) for name in match.categories])],
            STATUS.header: [(f"{OURS}{status}", label) for status, label in PetStatus.choices],
        }
        for value in values:
            self.fields[value.field] = _field(value, ours[value.header], may_add_categories=may_add_categories)
        for at, column in enumerate(match.columns):
            self.fields[f"column-{at}"] = forms.ChoiceField(
                required=False, label=f"{column.title or 'Column'} is", choices=MEANINGS, initial=column.meaning
            )
            self.fields[f"column-{at}"].widget.attrs["class"] = "input"

    def title(self) -> str:
        """Return what is new of a supplier; "" if there is none."""
        if (known := self.match.known) is None:
            return ""
        new = [column.title for column, _ in self.columns()]
        what = [f"{'a new column' if len(new) == 1 else 'new columns'}: {', '.join(new)}"] if new else []
        what += [f"no column {', '.join(known.missing)}"] if known.missing else []
        what += ["new values"] if self.values() else []
        what += [f"a default category that is gone: {self.gone}"] if self.gone else []
        what += ["merged cells"] if self.match.merged and known.how.fill_merged is None else []
        return f"{known.supplier} has {' and '.join(what)}" if what else ""

    def columns(self, *, former: bool = False) -> list[tuple[Any, forms.BoundField]]:
        """Return the columns to ask about, or those that their supplier had before."""
        known = self.match.known
        fields = [(column, self[f"column-{at}"]) for at, column in enumerate(self.match.columns)]
        return [each for at, each in enumerate(fields) if (known is not None and at not in known.new) == former]

    def former_columns(self) -> list[tuple[Any, forms.BoundField]]:
        return self.columns(former=True)

    def values(self, *, former: bool = False) -> list[tuple[MatchedColumn, str, list[tuple[ForeignValue, Any]]]]:
        """Return the columns that have values which are none of ours: each with its title and the fields of these."""
        titles, is_known = {column.meaning: column.title for column in self.match.columns}, self.match.known is not None
        found = []
        for column in self.match.values:
            values = [each for each in column.values if (is_known and each.is_chosen) == former]
            if values:
                found.append((column, titles.get(column.header, ""), [(value, self[value.field]) for value in values]))
        return found

    def former_values(self) -> list[tuple[MatchedColumn, str, list[tuple[ForeignValue, Any]]]]:
        return self.values(former=True)

    def sheets(self) -> list[tuple[int, Any, str, int, str]]:
        """Return the sheets to choose from: each with its number, how many rows and columns it has, and its titles."""
        found = []
        for number, sheet in enumerate(self.match.sheets, 1):
            rows = f"{len(sheet.rows)}{' or more' if len(sheet.rows) == AHEAD else ''}"
            width = max(len(cells) for _, cells in sheet.rows)
            found.append((number, sheet, rows, width, ", ".join(filter(None, header_of(sheet.rows)))))
        return found

    def encodings(self) -> list[tuple[str, str, str, int, Any, bool]]:
        """Return the encodings: each with its language, its name, how many read the same, texts, if it is chosen."""
        chosen = self.match.how.encoding
        found = [(names[0], len(names) - 1, texts, chosen in names) for names, texts, *_ in self.match.encodings]
        return [(name, *LIKELY[name], same, texts, is_chosen) for name, same, texts, is_chosen in found]

    def read(self) -> str:
        """Return what the columns are read of, to see if something else is chosen."""
        how, names = self.match.how, [sheet.name for sheet in self.match.sheets]
        sheet = names.index(how.sheet) + 1 if how.sheet in names else ""
        return f"{how.encoding or ''}:{sheet}:{how.header_row}"

    def rows(self) -> list[tuple[int, list[tuple[str, bool]]]]:
        rows = self.match.first.rows
        at = next((at for at, row in enumerate(rows) if row[0] == self.match.how.header_row), 0)
        first = max(0, at - SHOWN_ROWS // 2) if at >= SHOWN_ROWS else 0
        return [(line, [*self._cells(line, cells)]) for line, cells in rows[first : first + SHOWN_ROWS]]

    def _cells(self, line: int, cells: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Yield the first cells of a row, and whether they have the value of a merged one above."""
        header = self.match.how.header_row
        merged = self.match.merged if line > header and self["fill_merged"].value() else {}
        rows = {number: row for number, row in self.match.first.rows if number > header}
        for at, cell in enumerate([*cells, *[""] * (max(merged, default=0) + 1 - len(cells))][:SHOWN_COLUMNS]):
            covered = covering(merged.get(at, ()), line)
            above = rows.get(covered.top - 1, [])[at : at + 1] if covered else []
            yield (above[0], True) if any(above) else (cell, False)

    def merged(self) -> tuple[str, str]:
        """Return which columns have merged cells, and what they cover; nothing if there are none."""
        groups = [group for some in self.match.merged.values() for group in some]
        if not groups:
            return "", ""
        columns = sorted(self.match.merged)
        letters = [letters_of(at) for at in columns]
        meanings = [(self.match.how.columns or [])[at] for at in columns]
        called = dict(MEANINGS)
        titles = " or ".join(called[meaning][0].lower() + called[meaning][1:] for meaning in meanings)
        error = ", which is an error" if {NAME.header, CATEGORY.header, CATEGORY_ID}.intersection(meanings) else ""
        covered = sum(group.bottom - group.top + 1 for group in groups)
        cells = (
            f"{len(groups):,} merged cell{' covers' if len(groups) == 1 else 's cover'} {covered + len(groups):,} rows"
        )
        has = f"Column {letters[0]} has" if len(letters) == 1 else f"Columns {', '.join(letters)} have"
        lack = "has" if covered == 1 else "have"
        return has, f"{cells}. Unticked, {covered:,} of these rows {lack} no {titles}{error}."

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("remember") and not cleaned.get("called"):
            self.add_error("called", "Say whose files these are, or don't remember them.")
        return cleaned

    def reading(self) -> Reading:
        cleaned = self.cleaned_data
        columns = [cleaned[f"column-{at}"] for at in range(len(self.match.columns))]
        columns += (self.match.how.columns or [])[len(columns) :]
        defaults = {name: cleaned[name] for name in (CATEGORY.header, STATUS.header) if cleaned[name]}
        values = {header: dict(kept) for header, kept in self.match.how.values.items()}
        for column in self.match.values:
            for value in column.values:
                chosen = cleaned[value.field]
                became = value.text if chosen == NEW else chosen.removeprefix(OURS) if chosen != LEFT_OUT else ""
                values.setdefault(column.header, {})[value.text] = became
        values = {header: in_one_step(kept) for header, kept in values.items()}
        fills = cleaned["fill_merged"] if self.match.merged else self.match.how.fill_merged
        return replace(self.match.how, columns=columns, defaults=defaults, values=values, fill_merged=fills)


def _field(value: ForeignValue, ours: list[Any], *, may_add_categories: bool) -> forms.ChoiceField:
    """Return the field that asks what a value becomes."""
    guess, may_be_new = _choice(value), value.header == CATEGORY.header and may_add_categories
    return forms.ChoiceField(
        label=f"{printable(value.text)} becomes",
        choices=[
            *([] if guess else [("", "Choose…")]),
            *ours,
            *([(NEW, f"New category “{printable(value.text)}”")] if may_be_new else []),
            (LEFT_OUT, "Leave these rows out"),
        ],
        initial=guess,
        error_messages={"required": "Choose what it becomes."},
        widget=forms.Select({"class": "input"}),
    )


def _choice(value: ForeignValue) -> str:
    """Return what a value seems to become, as the form has it; "" without a guess."""
    if value.becomes is None:
        return ""
    is_new = value.header == CATEGORY.header and value.becomes == value.text
    return NEW if is_new else f"{OURS}{value.becomes}" if value.becomes else LEFT_OUT

"""What staff send to import a file, and the options that they choose for it."""

from typing import Any

from django import forms
from django.conf import settings

from files.uploads import MOST_ROWS

BLANKS = (("keep", "Leaves the animal as it is"), ("clear", "Clears the status, to available"))


class UploadForm(forms.Form):
    """The file, and what `import_pets` has options for."""

    file = forms.FileField(
        help_text=f"CSV or XLSX, at most {settings.LARGEST_UPLOAD // 2**20} MB and {MOST_ROWS:,} rows",
        error_messages={"required": "Choose a file."},
        widget=forms.FileInput({"accept": ".csv,.xlsx"}),
    )
    create_categories = forms.BooleanField(
        required=False, label="Add missing categories", help_text="Otherwise rows that name one are rejected."
    )
    blank = forms.ChoiceField(choices=BLANKS, label="A blank cell", help_text="Of a row whose animal is there already.")
    formula_safe = forms.BooleanField(
        required=False,
        initial=True,
        label="Drop a ' in front of a formula",
        help_text="Exports of the back office have it before what a spreadsheet would take for a formula.",
    )
    sheet = forms.CharField(
        required=False, max_length=255, strip=False, help_text="Of a workbook. The first one if this is empty."
    )
    ignore_unknown_columns = forms.BooleanField(required=False)

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
        categories = "are added" if self["create_categories"].value() else "are errors"
        return f"Blank cells {blanks} · missing categories {categories}"

    def chosen(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if name != "file"}

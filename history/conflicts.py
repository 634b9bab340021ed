"""A form that notices when someone else changed the thing since the form was opened, and says what they changed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import BigIntegerField, OuterRef, Subquery

from history.times import in_sentence

SHOWN = 20
"""Changes by others that the form lists. There are hardly ever two."""

CHANGED = (
    "Not saved. Someone else changed this after you opened it. Their changes are listed here. What you typed is still "
    "in the form. Save it anyway, or take theirs."
)
UNKNOWN = "Not saved. This page is out of date. Reload it and try again."


class SeenField(forms.IntegerField):
    """The row of history that was the latest when the form was made. It is no input, so it never counts as changed."""

    widget = forms.HiddenInput

    def has_changed(self, _initial: Any, _data: Any) -> bool:
        """Return that it has not."""
        return False


class SeenForm(forms.ModelForm):  # type: ignore[type-arg]  # cannot be subscripted when it runs
    """Does not save over a change that its user has not seen.

    The row is locked while it looks, so it must be cleaned and saved in one transaction. What was typed stays in the
    form, which from then on has seen the other changes: saved again, it is the user's decision.
    """

    seen = SeenField(required=False)
    changes_of_others: Sequence[str] = ()
    """What they changed since the form was opened, if that is why it was not saved."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Note what is there now, unless the form comes back from a browser."""
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and not self.is_bound:
            known = getattr(self.instance, "latest_change", None)
            self.initial["seen"] = known or latest_change(self.instance)

    def clean(self) -> dict[str, Any] | None:
        """Reject what would overwrite someone else's change."""
        cleaned = super().clean()
        if self.instance.pk is not None and self.has_changed():
            self._reject_unseen(self.cleaned_data.get("seen"))
        return cleaned

    def _reject_unseen(self, seen: int | None) -> None:
        model: Any = type(self.instance)
        model.objects.select_for_update().filter(pk=self.instance.pk).first()
        latest = latest_change(self.instance)
        if seen == latest:
            return
        self.data = dict(self.data.items()) | {self.add_prefix("seen"): latest}
        if seen is None:
            raise ValidationError(UNKNOWN, code="unknown")
        self.changes_of_others = [*changes_since(self.instance, seen)]
        raise ValidationError([CHANGED, *self.changes_of_others])


def latest_change(instance: Any) -> int | None:
    """Return the number of the newest row of the history of `instance`."""
    newest: int | None = instance.history.order_by("-history_id").values_list("history_id", flat=True).first()
    return newest


def latest_change_of_each(history: Any) -> Subquery:
    """Return the expression for the same, in a query of the things that `history` is of."""
    newest = history.filter(id=OuterRef("pk")).order_by("-history_id").values("history_id")[:1]
    return Subquery(newest, output_field=BigIntegerField())


def changes_since(instance: Any, seen: int) -> Iterator[str]:
    """Yield what was changed since that row of history, and by whom."""
    rows = [*instance.history.filter(history_id__gte=seen).order_by("history_id")[: SHOWN + 1]]
    for before, after in pairwise(rows):
        who = f"{after.actor or 'a program'}, {in_sentence(after.history_date)}"
        for change in after.diff_against(before, foreign_keys_are_objs=True).changes:
            label = instance._meta.get_field(change.field).verbose_name.capitalize()  # noqa: SLF001 - Django's documented name
            yield f"{label}: {_shown(change.old)} → {_shown(change.new)} ({who})"


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"“{value}”"

"""A form that notices when someone else changed the thing since the form was opened, and says what they changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import BigIntegerField, OuterRef, Subquery
from django.utils.text import capfirst

from history.acting import acting
from history.naming import name_actors, who
from history.times import in_sentence
from history.values import in_words, shown

SHOWN = 20
"""Changes by others that the form lists. There are hardly ever two."""

UNKNOWN = "Not saved. This page is out of date. Reload it and try again."

MEANWHILE = "Someone else just used that value or deleted a linked item."
"""Why the database rejects what was valid when it was checked."""


@dataclass(frozen=True)
class EditConflict:
    """Why a form was not saved: the newest change since it was opened, and what differs now."""

    change: Any
    is_yours: bool
    """Whether you made it, on another device or in another tab."""
    others: int
    """People or programs beside that one."""
    differences: list[dict[str, Any]]

    @property
    def acts(self) -> list[Any]:
        return [self.change]

    def __str__(self) -> str:
        """Return the first sentence, with the name that `name_actors` gave the change, if it did."""
        someone = (getattr(self.change, "who", "") or who(self.change.actor)) if self.change.actor else "A program"
        changer = "You" if self.is_yours else someone
        more = f" and {self.others} other{'s' * (self.others > 1)}" * bool(self.others)
        place = " in another tab or on another device" * self.is_yours
        return f"Not saved. {changer}{more} changed this{place} {in_sentence(self.change.history_date)}."


class SeenField(forms.IntegerField):
    """The row of history that was the latest when the form was made. It is no input, so it never counts as changed."""

    widget = forms.HiddenInput

    def has_changed(self, _initial: Any, _data: Any) -> bool:
        return False


class SeenForm(forms.ModelForm):  # type: ignore[type-arg]  # cannot be subscripted when it runs
    """Does not save over a change that its user has not seen.

    The row is locked while it looks, so it must be cleaned and saved in one transaction. What was typed stays in the
    form, which from then on has seen the other changes: saved again, it is the user's decision.
    """

    states: ClassVar[Sequence[str]] = ()
    """Fields that are shown as a badge."""
    seen = SeenField(required=False)
    conflict: EditConflict | None = None
    """What changed since the form was opened, if that is why it was not saved."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Note what is there now, unless the form comes back from a browser."""
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and not self.is_bound:
            known = getattr(self.instance, "latest_change", None)
            self.initial["seen"] = known or latest_change(self.instance)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance.pk is not None and self.has_changed():
            self._reject_unseen(self.cleaned_data.get("seen"))
        return cleaned

    def _reject_unseen(self, seen: int | None) -> None:
        model: Any = type(self.instance)
        now = model.objects.select_for_update().filter(pk=self.instance.pk).first()
        latest = latest_change(self.instance)
        if seen == latest:
            return
        self.data = dict(self.data.items()) | {self.add_prefix("seen"): latest}
        changes = (
            [] if seen is None else list(self.instance.history.filter(history_id__gt=seen).order_by("-history_id"))
        )
        if now is None or not changes:  # it was deleted a moment ago, or the form is of a database that was restored
            raise ValidationError(UNKNOWN, code="unknown")
        others = len({change.actor for change in changes} - {changes[0].actor})
        is_yours = changes[0].actor == acting().actor
        self.conflict = EditConflict(changes[0], is_yours, others, [*_differences(self, now)])
        raise ValidationError(str(self.conflict))


def _differences(form: Any, now: Any) -> Iterator[dict[str, Any]]:
    """Yield each field that has another value now than in the form, with the kinds of its badges if it is a state."""
    values = forms.model_to_dict(now)
    for name, field in form.fields.items():
        if name in form.declared_fields or not field.has_changed(values[name], form[name].data):
            continue
        yours = form.cleaned_data.get(name, form[name].data)
        badges = (getattr(now, name), str(yours)) if name in form.states else None
        label, theirs = capfirst(str(field.label)), shown(now, name)
        yield {"label": label, "theirs": theirs, "yours": in_words(now, name, yours), "badges": badges}


def latest_change(instance: Any) -> int | None:
    """Return the number of the newest row of the history of `instance`."""
    newest: int | None = instance.history.order_by("-history_id").values_list("history_id", flat=True).first()
    return newest


def latest_change_of_each(history: Any) -> Subquery:
    """Return the expression for the same, in a query of the things that `history` is of."""
    newest = history.filter(id=OuterRef("pk")).order_by("-history_id").values("history_id")[:1]
    return Subquery(newest, output_field=BigIntegerField())


def changes_since(instance: Any, seen: int, reader: Any) -> Iterator[str]:
    """Yield what was changed since that row of history, and by whom, as far as the user `reader` can see it."""
    rows = [*instance.history.filter(history_id__gte=seen).order_by("history_id")[: SHOWN + 1]]
    name_actors(rows, reader)
    for before, after in pairwise(rows):
        changer = "you" if after.actor == acting().actor else after.who
        by = ", ".join(filter(None, [changer, after.contact, in_sentence(after.history_date)]))
        for change in after.diff_against(before, foreign_keys_are_objs=True).changes:
            label = instance._meta.get_field(change.field).verbose_name.capitalize()  # noqa: SLF001 - Django's documented name
            yield f"{label}: {_shown(change.old)} → {_shown(change.new)} ({by})"


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"“{value}”"

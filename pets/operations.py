"""The three operations of the interface document (section 4), and the feed of changes."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.http import http_date
from rest_framework import exceptions

from categories import statements as categories
from database.statements import Steps, parameter, vendor
from history.acting import acting
from idempotency.operations import Creation, once
from pets import feed, statements
from pets.columns import CATEGORY, SHOWN
from pets.models import PetStatus
from pets.rules import NO_SUCH_CATEGORY, REQUIRED
from rest.errors import ErrorCode
from rest.lists import DELAYED_SINCE, Feed, Listing, choice, identifier, one, page
from rest.request import Request, Result

PETS = Listing(
    statements,
    {
        "status": choice(PetStatus, "List only those with this status. Without it, list all."),
        "categoryId": identifier("List only those of this category (digits only), an addition to version 1.0.0."),
    },
)
CHANGES = Feed()

list_pets = partial(page, listing=PETS)
"""Returns a page of animals, newest first."""

get_pet = partial(one, listing=PETS, missing=ErrorCode.PET_NOT_FOUND)
"""Returns the animal that the path names."""


def list_changes(request: Request) -> Steps[Result]:
    """Return a page of the feed, always with the link to the next one. Without a cursor, the feed begins now."""
    wanted = CHANGES.read(request)
    place = wanted.place and feed.Place(*wanted.place)
    shown = yield from feed.changes_after(vendor(), place, wanted.limit)
    headers = {"Link": wanted.link(request.url, [wanted.limit, *shown.after])}
    if shown.delayed_since is not None:
        headers[DELAYED_SINCE] = http_date(shown.delayed_since)
    return Result(shown.changes, headers=headers)


class NewPet:
    """A NewPet that was sent, read by the rules of its columns. Whether its category exists is not asked."""

    def __init__(self, sent: Mapping[str, Any]) -> None:
        """Read the fields that the object has; others are ignored (docs/decisions/0001)."""
        self.values: dict[str, Any] = {}
        """Column → value of each valid field."""
        self.errors: dict[str, list[str]] = {}
        """Field → what is wrong with it."""
        self.meaning: dict[str, Any] = {}
        """Each field as it was read, however it was written, and an invalid one as it was sent."""
        for column in SHOWN:
            value = self.meaning[column.field] = sent.get(column.field, column.default)
            if column.required and column.field not in sent:
                self.errors[column.field] = [REQUIRED]
                continue
            try:
                self.values[column.name] = self.meaning[column.field] = column.rule(value)
            except ValidationError as error:
                self.errors[column.field] = error.messages


def create_pet(request: Request) -> Steps[Result]:
    """Add an animal, with an `Idempotency-Key` only once; raises `ValidationError` with all that is wrong."""
    sent, by = NewPet(request.json()), acting()
    values = {**sent.values, "now": parameter(timezone.now()), "actor": by.actor, "request_id": by.request_id}
    creation = None if sent.errors else Creation(statements.ADDITION, values, sent.meaning)
    added = yield from once(request, sent.meaning, creation)
    if added is None:
        raise exceptions.ValidationError((yield from _errors(sent)))
    return added


def _errors(sent: NewPet) -> Steps[dict[str, list[str]]]:
    """Return the errors, with one about a category that does not exist: adding would have looked for it."""
    errors = sent.errors
    category = sent.values.get(CATEGORY.name)
    if not errors or (category is not None and not (yield from categories.one(category))):
        errors = {**errors, CATEGORY.field: [NO_SUCH_CATEGORY]}
    return {name: errors[name] for name in sent.meaning if name in errors}

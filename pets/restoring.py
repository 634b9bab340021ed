"""Animals that were deleted, and bringing one of them back."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from categories.models import Category
from pets.models import EndedSale, Pet, PetStatus, Sale

SEARCHED = 10_000
"""Deletions, the newest, that a name or a reference is looked for in; history is indexed by animal only."""


class RestoreRejectedError(Exception):
    """The animal cannot be brought back; the text says why."""


def deleted_animals(needle: str = "") -> QuerySet[Any]:
    """Return the last row of history of each deleted animal, newest first.

    `needle` is a part of the name or the reference, looked for in the newest `SEARCHED` deletions, or an id, of any.
    """
    deletions = Pet.history.filter(history_type="-").order_by("-history_id")
    back = Pet.objects.filter(pk=OuterRef("id"))
    later = Pet.history.filter(id=OuterRef("id"), history_id__gt=OuterRef("history_id"), history_type="-")
    gone: QuerySet[Any] = deletions.filter(~Exists(back), ~Exists(later)).select_related("category")
    if not needle:
        return gone
    first = deletions.values_list("history_id", flat=True)[SEARCHED - 1 : SEARCHED].first() or 0
    wanted = Q(history_id__gte=first) & (Q(name__matches=needle) | Q(external_reference__matches=needle))
    if needle.isascii() and needle.isdecimal() and len(needle) < len(str(2**63)):
        wanted |= Q(id=int(needle))
    found: QuerySet[Any] = gone.filter(wanted)
    return found


def restore(number: int, *, category: int | None = None) -> Pet:
    """Bring the deleted animal back under its own id, with its reference and the time it was first added.

    If its category was deleted, it needs another one, `category`. Raises `RestoreRejectedError`, and changes nothing,
    if it is there, never was, or cannot be as it was.
    """
    last = Pet.history.filter(id=number).order_by("-history_id").first()
    if last is None or last.history_type != "-":
        message = f"There is no deleted animal {number}. Perhaps someone else has restored it."
        raise RestoreRejectedError(message)
    if not Category.objects.filter(pk=last.category_id).exists():
        if category is None or not Category.objects.filter(pk=category).exists():
            raise RestoreRejectedError(_category_gone(last.name, last.category_id))
        last.category_id = category
    holder = last.external_reference and Pet.objects.filter(external_reference=last.external_reference).first()
    if holder:
        message = (
            f"“{last.name}” had the external reference {last.external_reference}, which “{holder}” ({holder.pk}) has "
            "now. Change that one's reference first."
        )
        raise RestoreRejectedError(message)
    pet: Pet = last.instance
    pet._change_reason = "Restored"  # type: ignore[attr-defined]  # noqa: SLF001 - where simple-history looks
    added = Pet.history.filter(id=number, history_type="+").order_by("history_id").first()
    try:
        with transaction.atomic():
            pet.save(force_insert=True)
            if added is not None:
                Pet.objects.filter(pk=number).update(created_at=added.history_date)
            if pet.status == PetStatus.SOLD:
                _restore_sale(number)
    except IntegrityError as error:
        message = f"“{last.name}” was not restored. Someone changed the catalogue at the same moment. Try again."
        raise RestoreRejectedError(message) from error
    return pet


def _restore_sale(number: int) -> None:
    """Let the animal be sold on the day that its deletion ended; none is known of one that was sold when it came."""
    sale = EndedSale.objects.filter(pet=number).order_by("-pk").first()
    if sale is not None:
        Sale.objects.create(pet_id=number, day=sale.day)


def restore_sale(pet: Pet, since: datetime, until: datetime) -> None:
    """Let the animal be sold on the day that a change between two times ended; today's sale stays if none is known."""
    ended = EndedSale.objects.filter(pet=pet, ended_at__gt=since, ended_at__lte=until).order_by("-pk").first()
    if ended is not None:
        Sale.objects.filter(pet=pet).update(day=ended.day)


def _category_gone(name: str, category: int) -> str:
    former = Category.history.filter(id=category).order_by("-history_id").first()
    called = f"“{former.name}”" if former else f"number {category}"
    return f"“{name}” belonged to the category {called}, which was deleted. Choose another category for it."

"""Who acted, in words for people. The history knows a key by its ID; the setting `ACTOR_NAMES` says who knows more."""

import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.text import capfirst

BEHIND = re.compile("(undo of [a-z ]+ [0-9]+ by )?(staff )?")
"""What the history writes before the name of a person."""


OURS = re.compile("a command or script|command .+ by |key [0-9A-Za-z]{8}$|import [0-9]+$")
"""Names that are words of ours; those of accounts and keys are their own."""


def who(actor: str) -> str:
    """Return who acted, a member of the staff by name alone."""
    return BEHIND.sub("", actor, count=1) or "a command or script"


def opening(name: str) -> str:
    """Return a name as a sentence begins with it."""
    return capfirst(name) if OURS.match(name) else name


def names_of(actors: Iterable[str], reader: Any) -> dict[str, tuple[str, str]]:
    """Return the name of each of `actors`, and whom to ask about a key.

    `reader` is the user who reads it: not everyone can see the names of keys.
    """
    actors = {*actors}
    known: dict[str, tuple[str, str]] = import_string(settings.ACTOR_NAMES)(actors, reader)
    return {actor: known.get(actor) or (who(actor), "") for actor in actors}


def name_actors(acts: Iterable[Any], reader: Any) -> None:
    """Give each of what has an `actor` the attributes `who` and `contact`, as `names_of` says."""
    acts = [act for act in acts if act is not None]
    names = names_of([act.actor for act in acts], reader)
    for act in acts:
        act.who, act.contact = names[act.actor]

"""What staff can do, as tasks in words. Each level needs some of Django's permissions, which no page shows."""

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.text import get_text_list

NO, SEE, CHANGE = "no", "see", "change"
SOME = "some"
"""What a role has of a task that is none of the levels: an older release or a script gave it single permissions."""

ORDER = ("view", "add", "change", "delete", "restore", "export")
"""The single permissions in the order in which they are said."""

VERBS = {"view": "see", "change": "edit"}
"""How they are said, where Django's word is not ours."""


class Task(NamedTuple):
    """A task, the permissions that its levels need, and how a sentence says it."""

    label: str
    group: str
    explained: str
    see: frozenset[str]
    change: frozenset[str]
    """With those of `see`; empty if it can only be seen."""
    doing: str = ""
    """What you do if you can change it, such as "edit animals"."""
    change_label: str = "Change"

    @property
    def name(self) -> str:
        return self.label.lower()

    @property
    def all(self) -> frozenset[str]:
        return self.see | self.change

    @property
    def levels(self) -> dict[str, str]:
        possible = {NO: "No", SEE: self.see and "See", CHANGE: self.change and self.change_label}
        return {level: str(word) for level, word in possible.items() if word}

    def permissions(self, level: str) -> frozenset[str]:
        return {NO: frozenset[str](), SEE: self.see, CHANGE: self.change}[level]

    def level(self, held: Iterable[str]) -> str:
        """Return the level that these permissions are, or SOME."""
        mine = self.all.intersection(held)
        return next((level for level in self.levels if self.permissions(level) == mine), SOME)

    def some(self, held: Iterable[str]) -> str:
        """Return the single permissions in words: "see and edit"."""
        words = {permission.split(".")[1].split("_")[0] for permission in self.all.intersection(held)}
        return get_text_list([VERBS.get(word, word) for word in ORDER if word in words], "and")


def _of(table: str, words: str) -> frozenset[str]:
    app, model = table.split(".")
    return frozenset(f"{app}.{word}_{model}" for word in words.split())


NOTHING = frozenset[str]()
KEEP = "view add change delete"

TASKS = {task.name: task for task in [
    Task(
        "Animals", "Animals", "Change: add, edit, delete and restore, one or many",
        _of("pets.pet", "view"), _of("pets.pet", f"{KEEP} restore"), "edit animals",
    ),
    Task(
        "Imports", "Animals", "Change: import and undo",
        _of("pets.importrun", "view"), _of("pets.importrun", "view add"), "import",
    ),
    Task("Exports", "Animals", "Download what you can see", NOTHING, _of("pets.pet", "export"), "export", "Download"),
    Task(
        "Categories", "Animals", "Change: add, edit, delete; with Animals, merge",
        _of("categories.category", "view"), _of("categories.category", KEEP), "edit categories",
    ),
    Task(
        "Keys", "API", "Change: issue, rotate, revoke",
        _of("apikeys.apikey", "view"), _of("apikeys.apikey", "view add change"), "issue and revoke keys",
    ),
    Task("Requests", "API", "Can only be seen", _of("request_desk.requestrecord", "view"), NOTHING),
    Task("Usage", "API", "Can only be seen", _of("apikeys.keyusage", "view"), NOTHING),
    Task("Staff", "Team", "Change: add, edit, close", _of("auth.user", "view"), _of("auth.user", KEEP), "edit staff"),
    Task(
        "Roles", "Team", "Change: add, edit, delete", _of("auth.group", "view"), _of("auth.group", KEEP), "edit roles"
    ),
]}  # fmt: skip
"""All tasks by name, in the order of the pages."""

ALL = NOTHING.union(*(task.all for task in TASKS.values()))


SIGHT = ("view", "change")
"""The words of the permissions that show what they are about."""

NEEDS = {"pets.add_importrun": "pets.pet"}
"""What shows more than a new row: the preview of an import has the values of animals."""


def usable(held: Iterable[str]) -> set[str]:
    """Return the permissions that count: nothing is done with what can't be seen, by whatever mix of roles."""
    mine = {*held}
    seen = {subject for word, subject in map(_split, mine) if word in SIGHT}
    return {permission for permission in mine if not (needed := _needed(permission)) or needed in seen}


def _needed(permission: str) -> str:
    """Return what must be seen for a permission to count, such as "pets.pet"; nothing if it needs no other."""
    word, subject = _split(permission)
    return NEEDS.get(permission, "" if word in {*SIGHT, "add"} else subject)


def _split(permission: str) -> tuple[str, str]:
    """Return "pets.export_pet" as "export" and "pets.pet"."""
    app, _, codename = permission.partition(".")
    word, _, model = codename.partition("_")
    return word, f"{app}.{model}"


def levels_of(held: Iterable[str]) -> dict[str, str]:
    """Return task → the level that these permissions are."""
    return {name: task.level(held) for name, task in TASKS.items()}


def sentence(held: Iterable[str]) -> str:
    """Return in a sentence or two what someone with these permissions can and can't do."""
    mine = frozenset(held)
    if mine >= ALL:
        return "Can do everything."
    if not mine & ALL:
        return "Can't see or change anything yet."
    levels = levels_of(mine)
    done = [
        task.doing if levels[task.name] == CHANGE else f"{task.some(mine)} {task.name}"
        for task in TASKS.values()
        if levels[task.name] in {CHANGE, SOME}
    ]
    seen = [task.name for task in TASKS.values() if levels[task.name] == SEE]
    never = [task.doing for task in TASKS.values() if not task.see and levels[task.name] == NO]
    unseen = [task.name for task in TASKS.values() if task.see and levels[task.name] == NO]
    cannot = _said(never if done else ["change anything"], unseen, "or")
    unmet = {_needed(permission) for permission in mine - usable(mine)}
    others = [task.name for task in TASKS.values() if unmet.intersection(_split(each)[1] for each in task.see)]
    condition = f" This needs another role that can see {get_text_list(others, 'and')}." if others else ""
    return f"Can {_said(done, seen, 'and')}." + condition + (f" Can't {cannot}." if cannot else "")


def _said(doing: list[str], seeing: list[str], word: str) -> str:
    """Return "edit animals, import and export, and see keys and requests"."""
    seen = f"see {get_text_list(seeing, word)}" if seeing else ""
    return f", {word} ".join(filter(None, [get_text_list(doing, word), seen]))

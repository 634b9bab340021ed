"""What an import says of its file, beside the animals that it changed: for its page and for the tab of Activity."""

from typing import Any

from django.urls import reverse

from categories.models import Category
from pets.models import STANDING, ImportRun, ImportState, ImportUpload
from pets.permissions import may_see_animals

OPTIONS = {
    "dry_run": "dry run",
    "again": "again, although it was imported before",
    "accept_ids": "changes of most names by ID accepted",
    "accept_near": "references like known ones accepted",
    "accept_references": "altered references and names accepted",
    "create_categories": "missing categories added",
    "skip_errors": "rows with errors rejected",
    "formula_safe": "a ' before cells dropped",
}

BADGES = dict.fromkeys(ImportState.values, "failed") | {
    ImportState.DONE: "done",
    ImportState.DRY_RUN: "same",
    ImportState.UNDONE: "same",
    ImportState.RUNNING: "pending",
    ImportState.PARTLY_UNDONE: "pending",
}
"""The colour of each state."""


def facts(request: Any, run: ImportRun) -> dict[str, Any]:
    """Return what the templates show of the file, to its sender with the rejected rows."""
    kept = ImportUpload.objects.filter(run=run, uploaded_by=request.user.pk).defer("content")
    is_kept = run.rejected or run.state in {ImportState.DRY_RUN, ImportState.RUNNING}
    is_listed = run.created and run.state in STANDING and may_see_animals(request)
    return {
        "badge": BADGES[run.state],
        "seconds": round(run.seconds),
        "categories": Category.objects.filter(pk__in=run.new_categories),
        "asked_for": _asked_for(run),
        "added": reverse("admin:pets_pet_changelist", query={"import_run": run.pk}) if is_listed else "",
        "upload": kept.first() if is_kept and request.user.has_perm("pets.add_importrun") else None,
    }


def page_of(run: ImportRun) -> str:
    """Return the address of the page of an import: that of its change, if it changed something."""
    return reverse("admin:activity_change", args=[run.change_id or f"i{run.pk}"])


def _asked_for(run: ImportRun) -> str:
    options = run.options | run.options.get("reading", {})
    words = [word for name, word in OPTIONS.items() if options.get(name)]
    if options.get("profile"):
        words.append(f"columns as in the profile “{options['profile']}”")
    return ", ".join(words if options.get("keep_blanks", True) else [*words, "blank cells clear"])

"""What the release before writes beside this one during an upgrade, and after the migration."""

from django.db import transaction
from django.db.models import Q

from changes.models import Change, Kind, State
from pets.models import IMPORTED, ImportRun


def adopt_imports() -> None:
    """Give imports that wrote something and have no change theirs."""
    some = Q(created__gt=0) | Q(updated__gt=0)
    missing = ImportRun.objects.filter(some, change=None, state__in=IMPORTED).defer("rejects").order_by("pk")
    for number in missing.values_list("pk", flat=True):
        with transaction.atomic():
            run = missing.select_for_update().filter(pk=number).first()
            if run is not None:
                run.change = record(run)
                run.save(update_fields=["change"])


def record(run: ImportRun, *, who: str = "", request_id: str = "") -> Change:
    """Create the change of an import that wrote something."""
    change = Change.objects.create(
        kind=Kind.IMPORT,
        who=who or run.who,
        what=run.file_name,
        changed=run.updated,
        added=run.created,
        request_id=request_id,
        state=State.DONE,
        ended_at=run.finished_at,
    )
    if run.finished_at:
        Change.objects.filter(pk=change.pk).update(made_at=run.finished_at)
    return change

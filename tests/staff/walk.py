"""Every page of the back office, found from the addresses themselves, and what each needs to be tried."""

from collections.abc import Callable, Iterator
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from categories.models import Category
from changes.bulk import Target, begin, select
from changes.models import Change, Selection
from changes.progress import LATE
from files import queue
from files.uploads import keep
from pets.models import ColumnProfile, ImportRun, ImportUpload, Pet, SavedView
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.request_desk.models import RequestRecord
from petstore_site.staff.grants import names_of, version_of, version_of_role
from petstore_site.staff.tasks import TASKS
from tests.factories import APIKeyFactory, CategoryFactory, PetFactory
from tests.staff.conftest import PASSWORD

MADE: dict[type[Model], Callable[[], Any]] = {
    Pet: PetFactory,
    Category: CategoryFactory,
    APIKey: APIKeyFactory,
    RequestRecord: lambda: RequestRecord.objects.create(
        at=timezone.now(), request_id="a", method="GET", route="pet-list", status=200, milliseconds=1
    ),
    ImportRun: lambda: ImportRun.objects.create(
        who="test", file_name="a.csv", sha256="0" * 64, options={}, state="done", finished_at=timezone.now()
    ),
    User: lambda: User.objects.create_user(f"user {User.objects.count()}", is_staff=True),
    Group: lambda: Group.objects.create(name=f"role {Group.objects.count()}"),
}
"""How a row to try the pages of a model with is made."""

OWN = ("account_", "mfa_")
"""How the names of the pages about the own sign-in begin."""

FILE = b"name,category\nForged,Dogs\n,Dogs\n"
"""An import that adds an animal and rejects a row."""

QUERIES = {"autocomplete": {"app_label": "pets", "model_name": "pet", "field_name": "category", "term": ""}}
"""What a page must be asked with to show something."""

DELETE = {"post": "yes"}


def _delete_all(model: type[Model]) -> dict[str, Any]:
    return {"action": "delete_selected", "post": "yes", "_selected_action": MADE[model]().pk}


def _pet(**more: Any) -> dict[str, Any]:
    return {"name": "Forged", "category": CategoryFactory().pk, "status": "sold"} | more


def _merge() -> dict[str, Any]:
    one, other = PetFactory().category, CategoryFactory()
    return {"keep": other.pk, "merge": one.pk, "what": f"{one} into {other}"}


def _seen(model: Any) -> Any:
    return model.history.latest("history_id")


def _file() -> dict[str, Any]:
    return {"file": ContentFile(FILE, "a.csv"), "blank": "keep"}


def _confirmation() -> dict[str, Any]:
    upload = ImportUpload.objects.last()
    return {"digest": upload.work.get("digest", "")} if upload and upload.work else {}


FORMS: dict[str, Callable[[], dict[str, Any]]] = {
    "account_change_password": lambda: {
        "oldpassword": PASSWORD, "password1": "a quiet purple giraffe", "password2": "a quiet purple giraffe",
    },
    "mfa_edit_webauthn": lambda: {"name": "Key"},
    "pets_pet_add": _pet,
    "pets_pet_change": lambda: _pet(seen=_seen(Pet).history_id),
    "pets_pet_simple_history": lambda: {"seen": _seen(Pet).history_id},
    "pets_pet_delete": lambda: DELETE,
    "pets_pet_delete_selected": lambda: DELETE,
    "pets_pet_status": lambda: {"becomes": f"sold:{_seen(Pet).history_id}"},
    "pets_pet_views": lambda: {"name": "Forged", "query": ""},
    "pets_importrun_add": _file,
    "pets_importrun_columns": lambda: {"read": "::1", "column-0": "name", "column-1": "category"},
    "pets_importrun_confirm": _confirmation,
    "categories_category_add": lambda: {"name": "Forged"},
    "categories_category_change": lambda: {"name": "Forged", "seen": _seen(Category).history_id},
    "categories_category_simple_history": lambda: {"seen": _seen(Category).history_id},
    "categories_category_delete": lambda: DELETE,
    "categories_category_changelist": lambda: _delete_all(Category),
    "categories_category_merge": _merge,
    "apikeys_apikey_add": lambda: {"name": "Forged", "scope": "write", "expires_at_0": "keep"},
    "apikeys_apikey_change": lambda: {"name": "Forged", "seen": _seen(APIKey).history_id},
    "apikeys_apikey_simple_history": lambda: {"seen": _seen(APIKey).history_id},
    "apikeys_apikey_rotate": lambda: {"grace_hours": 1},
    "apikeys_apikey_delete": lambda: DELETE,
    "apikeys_apikey_changelist": lambda: _delete_all(APIKey),
    "request_desk_requestrecord_changelist": lambda: _delete_all(RequestRecord),
    "auth_user_add": lambda: {"username": "forged"},
    "auth_user_change": lambda: {
        "username": "forged", "is_superuser": "on", "seen": version_of(User.objects.latest("pk")),
    },
    "auth_user_password_change": lambda: {"remove_second_factors": "on"},
    "auth_user_delete": lambda: DELETE,
    "auth_user_changelist": lambda: _delete_all(User),
    "auth_group_add": lambda: dict.fromkeys(TASKS, "no") | {"name": "Forged"},
    "auth_group_change": lambda: dict.fromkeys(TASKS, "no") | {
        "name": "Forged", "seen": version_of_role(names_of(Group.objects.latest("pk").permissions.all())),
    },
    "auth_group_delete": lambda: DELETE,
    "auth_group_changelist": lambda: _delete_all(Group),
}  # fmt: skip
"""What is sent to a page to change something, where an empty form would not; made after the row of the address."""


def form(page: str) -> dict[str, Any]:
    """Return a form that changes something if it is done; rows that it names exist."""
    return FORMS.get(page, dict)()


def pages() -> dict[str, list[str]]:
    """Return the name of each page → the arguments in its address; addresses without a name only lead elsewhere."""
    back_office = next(each for each in get_resolver().url_patterns if str(each.pattern) == "admin/")
    own_sign_in = next(each for each in get_resolver().url_patterns if str(each.pattern) == "admin/account/")
    return dict(_named(back_office)) | dict(_named(own_sign_in))


def _named(addresses: Any) -> Iterator[tuple[str, list[str]]]:
    for each in addresses.url_patterns:
        if isinstance(each, URLResolver):
            yield from _named(each)
        elif isinstance(each, URLPattern) and each.name:
            yield each.name, list(each.pattern.regex.groupindex) or ["nameless"] * each.pattern.regex.groups


def address(page: str, user: User | None) -> str:
    """Return an address of the page, about a row that exists and that the user, if it is theirs to have, has."""
    name, query = page if page.startswith(OWN) else f"admin:{page}", QUERIES.get(page)
    if page.endswith(("_simple_history", "_undo_edit")):
        row = MADE[_model_of(page)]()
        versions = [_seen(_model_of(page)).history_id]
        row.name = f"Renamed {row.pk} for {page}"
        row.save()
        versions.append(_seen(_model_of(page)).history_id)
        return reverse(name, args=[row.pk, versions[page.endswith("_undo_edit")]], query=query)
    return reverse(name, kwargs={each: _argument(page, each, user) for each in pages()[page]}, query=query)


def _argument(page: str, name: str, user: User | None) -> Any:
    if page in PREPARED:
        return PREPARED[page](user)
    if name in OWNED:
        return OWNED[name](user) if user else 0
    fixed = {"app_label": "pets", "content_type_id": 1, "becomes": "sold"}
    return fixed[name] if name in fixed else 1 if page == "view_on_site" else MADE[_model_of(page)]().pk


def _model_of(page: str) -> type[Model]:
    """Return the model whose page it is; `StopIteration` says that it is none of a model."""
    names = {f"{model._meta.app_label}_{model._meta.model_name}_": model for model in admin.site._registry}
    return next(model for name, model in names.items() if page.startswith(name))


def _passkey(user: User) -> int:
    passkey = Authenticator(user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "Phone", "credential": {}})
    passkey.save()
    return int(passkey.pk)


def _upload(user: User) -> int:
    CategoryFactory(name="Dogs")
    chosen = {"encoding": "", "formula_safe": True, "create_categories": False, "blank": "keep"}
    upload = keep(SimpleUploadedFile("a.csv", FILE), chosen=chosen, user=user)
    queue.put(upload)
    return int(upload.pk)


def _worked_on(user: User | None) -> int:
    number = _upload(user or User.objects.create_user("someone"))
    ImportUpload.objects.filter(pk=number).update(work={"state": "stopped", "why": "It was stopped."})
    return number


def _selection(user: User) -> int:
    return int(select(Pet.objects.filter(pk=PetFactory(status="available").pk), user=user, most=1).pk)


OWNED = {"pk": _passkey, "upload_id": _upload, "selection_id": _selection}
"""Arguments that name what belongs to one user alone."""


def _running(user: User | None) -> int:
    owner = user or User.objects.create_user("someone")
    bulk = begin(Selection.objects.get(pk=_selection(owner)), Target("status", "sold", "sold"))
    Change.objects.update(worked_at=timezone.now() - LATE)
    return int(bulk.pk)


def _view_of(user: User | None) -> int:
    owner = user or User.objects.create_user("someone")
    return int(SavedView.objects.create(user=owner, name="Sold", query="").pk)


def _profile(_user: User | None) -> int:
    return int(ColumnProfile.objects.create(name="Farm", header=["tier"], columns=["name"], saved_by="root").pk)


def _row(_user: User | None) -> str:
    """Return the key of a change of one animal."""
    pet = PetFactory(status="available")
    pet.status = "sold"
    pet.save()
    return f"r{_seen(Pet).pk}"


PREPARED: dict[str, Callable[[User | None], Any]] = {
    "activity_import": lambda _user: MADE[ImportRun]().pk,
    "activity_change": _row,
    "activity_csv": _row,
    "activity_undo": _row,
    "activity_stop": _running,
    "pets_pet_view_delete": _view_of,
    "pets_importrun_forget": _profile,
    "pets_importrun_work": _worked_on,
    "pets_importrun_discard": _worked_on,
}
"""Pages that need a row in a certain state."""


def rows() -> dict[str, Any]:
    """Return everything that a form could make, change or end. The ORM would take longer than most requests."""
    kept = [*admin.site._registry, Change, ColumnProfile, ImportUpload, Authenticator, SavedView, LogEntry]
    stopping = list(map(queue.is_stopping, ImportUpload.objects.values_list("pk", flat=True)))
    with connection.cursor() as cursor:
        found = {model.__name__: _rows(cursor, model) for model in kept}
    return found | {"sessions": Session.objects.count(), "stopping": stopping}


def _rows(cursor: CursorWrapper, model: type[Model]) -> Any:
    cursor.execute(f"SELECT * FROM {model._meta.db_table} ORDER BY {model._meta.pk.column}")
    return cursor.fetchall()

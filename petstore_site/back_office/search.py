"""The search at the top of every page: animals, keys, categories and requests, as far as its user can see them."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from categories.models import Category
from pets.admin.listing import newest_matching
from pets.admin.permissions import SEE_ANIMALS
from pets.models import Pet
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.navigation import SEE_CATEGORIES, SEE_KEYS, SEE_REQUESTS, may_open
from petstore_site.request_desk.models import RequestRecord

MOST = 8
"""Results of a group; the link below them leads to the list."""

REQUEST_ID = re.compile("[A-Za-z0-9._-]{16,128}")
"""What may be the ID of a request: shorter words are looked for among names only."""


class Found(NamedTuple):
    """A result, a note to choose between results of the same name, and the icon of its category."""

    label: str
    address: str
    note: str = ""
    icon: str = ""


class Group(NamedTuple):
    """Where to look, and who can."""

    title: str
    icon: str
    permissions: tuple[str, ...]
    """Any of these."""
    look: Callable[[str], Iterator[Found]]
    more: str = ""
    """The list that finds all of them."""


def _animals(needle: str) -> Iterator[Found]:
    for pet in Pet.objects.filter(pk__in=newest_matching(needle, MOST)).select_related("category").order_by("-pk"):
        note = ", ".join(filter(None, [pet.get_status_display(), pet.category.name, pet.external_reference]))
        page = reverse("admin:pets_pet_change", args=[pet.pk])
        yield Found(pet.name, page, f"{note}, ID {pet.pk}", pet.category.icon)


def _keys(needle: str) -> Iterator[Found]:
    for key in APIKey.objects.filter(Q(name__icontains=needle) | Q(key_id=needle)).order_by("-pk")[:MOST]:
        yield Found(key.name, reverse("admin:apikeys_apikey_change", args=[key.pk]), f"{key.state.label}, {key.key_id}")


def _categories(needle: str) -> Iterator[Found]:
    for category in Category.objects.filter(name__icontains=needle)[:MOST]:
        page = reverse("admin:categories_category_change", args=[category.pk])
        yield Found(category.name, page, icon=category.icon)


def _requests(needle: str) -> Iterator[Found]:
    if REQUEST_ID.fullmatch(needle) and RequestRecord.objects.kept().filter(request_id=needle).exists():
        desk = reverse("admin:request_desk_requestrecord_desk", query={"request_id": needle})
        yield Found(needle, desk, "What happened to this request")


GROUPS = [
    Group("Requests", "message-square-warning", SEE_REQUESTS, _requests),
    Group("Animals", "paw-print", SEE_ANIMALS, _animals, "pets_pet"),
    Group("API keys", "key-round", SEE_KEYS, _keys, "apikeys_apikey"),
    Group("Categories", "tags", SEE_CATEGORIES, _categories),
]


@require_safe
def everything(request: Any) -> HttpResponse:
    """Show what was found, in groups; a request that is the only result leads to its story at once."""
    needle = request.GET.get("q", "").replace("\0", "").strip()[:200]
    groups = [_results(group, needle) for group in GROUPS if needle and may_open(request.user, group.permissions)]
    found = [result for group in groups for result in group["results"]]
    if len(found) == 1 and groups[0]["results"] and groups[0]["title"] == "Requests":
        return HttpResponseRedirect(found[0].address)
    context = {"title": "Search", "needle": needle, "groups": [group for group in groups if group["results"]]}
    return TemplateResponse(request, "admin/search.html", admin.site.each_context(request) | context)


def _results(group: Group, needle: str) -> dict[str, Any]:
    results = list(group.look(needle))
    more = reverse(f"admin:{group.more}_changelist", query={"q": needle}) if group.more and len(results) == MOST else ""
    return {"title": group.title, "icon": group.icon, "results": results, "more": more}

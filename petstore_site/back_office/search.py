"""The search at the top of every page, and its palette: things, pages and actions, as far as its user can see them."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from categories.models import Category
from database.search import fold, fold_needle
from pets.admin.listing import newest_matching
from pets.models import Pet
from pets.permissions import SEE_ANIMALS
from petstore_site.apikeys.models import APIKey
from petstore_site.back_office.navigation import GROUPS as PAGES
from petstore_site.back_office.navigation import SEE_CATEGORIES, SEE_KEYS, SEE_REQUESTS, SEE_STAFF, may_open
from petstore_site.back_office.request_desk.models import RequestRecord

MOST = 8
"""Results of a group; the link below them leads to the list."""

REQUEST_ID = re.compile("[A-Za-z0-9._-]{16,128}")
"""What may be the ID of a request: shorter words are looked for among names only."""


class SearchResult(NamedTuple):
    """A result, a note to choose between results of the same name, and the icon of its own if it has one."""

    label: str
    address: str
    note: str = ""
    icon: str = ""
    state: tuple[str, str] = ("", "")
    """The kind and the words of its badge."""
    is_exact: bool = False
    """Whether it was asked for by its ID: then its page opens at once."""


class SearchGroup(NamedTuple):
    """Where to look, and who can."""

    title: str
    icon: str
    permissions: tuple[str, ...]
    """Any of these."""
    look: Callable[[str], Iterator[SearchResult]]
    more: str = ""
    """The list that finds all of them."""


def _animals(needle: str) -> Iterator[SearchResult]:
    for pet in Pet.objects.filter(pk__in=newest_matching(needle, MOST)).select_related("category").order_by("-pk"):
        note = ", ".join(filter(None, [pet.category.name, pet.external_reference, f"ID {pet.pk}"]))
        page = reverse("admin:pets_pet_change", args=[pet.pk])
        yield SearchResult(pet.name, page, note, pet.category.icon, (pet.status, pet.get_status_display()))


def _keys(needle: str) -> Iterator[SearchResult]:
    for key in APIKey.objects.filter(Q(name__matches=needle) | Q(key_id=needle)).order_by("-pk")[:MOST]:
        page = reverse("admin:apikeys_apikey_change", args=[key.pk])
        state = (str(key.state), key.state.label)
        yield SearchResult(key.name, page, key.key_id, state=state, is_exact=key.key_id == needle)


def _categories(needle: str) -> Iterator[SearchResult]:
    for category in Category.objects.filter(name__matches=needle)[:MOST]:
        page = reverse("admin:categories_category_change", args=[category.pk])
        yield SearchResult(category.name, page, icon=category.icon)


def _requests(needle: str) -> Iterator[SearchResult]:
    if REQUEST_ID.fullmatch(needle) and RequestRecord.objects.kept().filter(request_id=needle).exists():
        desk = reverse("admin:request_desk_requestrecord_desk", query={"request_id": needle})
        yield SearchResult(needle, desk, "What happened to this request", is_exact=True)


def _staff(needle: str) -> Iterator[SearchResult]:
    named = Q(username__matches=needle) | Q(first_name__matches=needle) | Q(last_name__matches=needle)
    for member in User.objects.filter(named).order_by("username")[:MOST]:
        page = reverse("admin:auth_user_change", args=[member.pk])
        yield SearchResult(member.get_full_name() or member.get_username(), page, member.get_username())


GROUPS = [
    SearchGroup("Requests", "message-square-warning", SEE_REQUESTS, _requests),
    SearchGroup("Animals", "paw-print", SEE_ANIMALS, _animals, "pets_pet"),
    SearchGroup("API keys", "key-round", SEE_KEYS, _keys, "apikeys_apikey"),
    SearchGroup("Categories", "tags", SEE_CATEGORIES, _categories),
    SearchGroup("Staff", "users", SEE_STAFF, _staff),
]

ACTIONS = [
    ("Add an animal", "plus", "admin:pets_pet_add", "pets.add_pet"),
    ("Import animals from a file", "upload", "admin:pets_importrun_add", "pets.add_importrun"),
    ("Add a category", "plus", "admin:categories_category_add", "categories.add_category"),
    ("Issue an API key", "key-round", "admin:apikeys_apikey_add", "apikeys.add_apikey"),
    ("Add a staff member", "user-round-plus", "admin:auth_user_add", "auth.add_user"),
    ("Add a role", "plus", "admin:auth_group_add", "auth.add_group"),
    ("Change your password", "lock", "account_change_password", ""),
    ("Your sign-in", "fingerprint", "mfa_index", ""),
]
"""What can be begun from anywhere: its name, icon, page and permission."""


@require_safe
def everything(request: Any) -> HttpResponse:
    """Show what was found, in groups, as a page or as the part of it that the palette shows.

    The ID of a request or a key leads to its page at once.
    """
    needle = request.GET.get("q", "").replace("\0", "").strip()[:200]
    groups = [_results(group, needle) for group in GROUPS if needle and may_open(request.user, group.permissions)]
    groups = [group for group in [*groups, *_commands(request.user, needle)] if group["results"]]
    exact = [result for group in groups for result in group["results"] if result.is_exact]
    context = {
        "title": "Search",
        "needle": needle,
        "groups": groups,
        "count": sum(len(group["results"]) for group in groups),
    }
    if "palette" in request.GET:
        groups.sort(key=lambda group: not any(result.is_exact for result in group["results"]))
        return TemplateResponse(request, "admin/search_results.html", context | {"is_palette": True})
    if exact:
        return HttpResponseRedirect(exact[0].address)
    return TemplateResponse(request, "admin/search.html", admin.site.each_context(request) | context)


def _commands(user: Any, needle: str) -> list[dict[str, Any]]:
    """Return the pages and actions that are called so, all of them while nothing is searched for."""
    links = [link for links in PAGES.values() for link in links if may_open(user, link.permissions)]
    pages = [SearchResult(link.heading or link.label, reverse(f"admin:{link.page}"), icon=link.icon) for link in links]
    actions = [
        SearchResult(label, reverse(page), icon=icon)
        for label, icon, page, needs in ACTIONS
        if not needs or user.has_perm(needs)
    ]
    return [
        _group("Actions", "activity", _called(actions, needle)),
        _group("Pages", "layout-dashboard", _called(pages, needle)),
    ]


def _called(results: list[SearchResult], needle: str) -> list[SearchResult]:
    words = fold_needle(needle).split()
    return [result for result in results if all(word in fold(result.label) for word in words)]


def _group(title: str, icon: str, results: list[SearchResult], more: str = "") -> dict[str, Any]:
    return {"title": title, "icon": icon, "results": results, "more": more}


def _results(group: SearchGroup, needle: str) -> dict[str, Any]:
    results = list(group.look(needle))
    more = reverse(f"admin:{group.more}_changelist", query={"q": needle}) if group.more and len(results) == MOST else ""
    return _group(group.title, group.icon, results, more)

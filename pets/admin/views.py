"""Saved views of the list of animals: a name for a query, for one person or for everyone."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST

from pets.models import SavedView
from pets.permissions import may_see_animals

MOST = 50
"""Views of one person."""


class ViewForm(forms.ModelForm):
    """A name, and the query of the list."""

    class Meta:
        model = SavedView
        fields = ("name", "query", "is_shared")

    def clean_query(self) -> str:
        return _kept(self.cleaned_data["query"])


def views_of(request: Any) -> list[dict[str, Any]]:
    """Return the saved views of the user and those that others share, and which of them is shown."""
    query = _kept(request.GET.urlencode())
    saved = SavedView.objects.filter(Q(user=request.user.pk) | Q(is_shared=True)).order_by("name", "pk")
    return [
        {
            "view": view,
            "owner": "" if view.user_id == request.user.pk else view.user.get_username(),
            "is_here": view.query == query,
        }
        for view in saved.select_related("user")
    ]


def _kept(query: str) -> str:
    """Return the query of a list without its page."""
    kept = QueryDict(query, mutable=True)
    for name in ("p", "e"):
        kept.pop(name, None)
    return kept.urlencode()


@require_POST
def save(request: Any) -> HttpResponse:
    """Save the query under a name; the same name replaces an earlier view."""
    if not may_see_animals(request):
        raise PermissionDenied
    form = ViewForm(request.POST)
    if not form.is_valid():
        advice = "Give the view a name of 1 to 60 characters."
        if "query" in form.errors:
            advice = "The search and filters have more than 2,000 characters."
        messages.error(request, f"Not saved. {advice}")
        return _list(form.cleaned_data.get("query", ""))
    values = form.cleaned_data
    name = values.pop("name")
    others = SavedView.objects.filter(user=request.user.pk).exclude(name=name)
    if others.count() >= MOST:
        messages.error(request, f"Not saved. You have {MOST} views. Delete one first.")
    else:
        SavedView.objects.update_or_create(user=request.user, name=name, defaults=values)
        messages.success(request, f"View “{name}” saved{' for everyone' if values['is_shared'] else ''}.")
    return _list(values["query"])


@require_POST
def delete(request: Any, number: int) -> HttpResponse:
    """Delete a view of one's own."""
    if not may_see_animals(request):
        raise PermissionDenied
    view = get_object_or_404(SavedView, pk=number, user=request.user.pk)
    view.delete()
    messages.success(request, f"View “{view.name}” deleted.")
    return _list("")


def _list(query: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:pets_pet_changelist", query=QueryDict(query)))

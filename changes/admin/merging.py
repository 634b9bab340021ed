"""The page that asks before a category is merged into another."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from categories.models import Category
from changes import merging
from changes.admin.change import PER_SECOND, keep_comment
from changes.admin.notices import carry_out
from changes.log import newest
from changes.words import animals
from history.naming import names_of
from pets import stock
from pets.models import Pet, PetStatus

LISTED = 5
"""Animals that the page names."""

RENAMED = "Nothing changed. Someone renamed a category. Check what will be merged."


class MergeForm(forms.Form):
    """Which category is kept, and which one is merged into it."""

    keep = forms.ModelChoiceField(Category.objects.all(), empty_label="Choose a category")
    merge = forms.ModelChoiceField(Category.objects.all(), label="Merge into it", empty_label="Choose a category")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("keep") and cleaned.get("keep") == cleaned.get("merge"):
            self.add_error("merge", "Choose another category.")
        return cleaned


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(merging.RIGHTS, raise_exception=True)
def merge(request: Any) -> HttpResponse:
    """Show what a merge would do, or do it and go back to the categories."""
    query = request.POST if request.method == "POST" else request.GET
    form = MergeForm(query if {"keep", "merge"} <= query.keys() else None, initial=query.dict())
    chosen = form.cleaned_data if form.is_valid() else None
    if request.method == "POST" and chosen:
        if request.POST.get("what") != merging.described(chosen["merge"], chosen["keep"]):
            messages.error(request, RENAMED)
            return HttpResponseRedirect(request.get_full_path())
        keep_comment(request)
        back = reverse("admin:categories_category_changelist")
        try:
            made = merging.begin(chosen["merge"], chosen["keep"], user=request.user)
        except merging.NotMergedError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(back)
        return carry_out(request, made, back)
    counts: dict[int, dict[str, int]] = {}
    for group in stock.in_stock():
        counts.setdefault(group.category_id, {})[group.status] = group.animals
    for field in form.fields.values():
        field.label_from_instance = lambda group: f"{group}, {animals(sum(counts.get(group.pk, {}).values()))}"  # type: ignore[attr-defined]  # both are choices
    context = admin.site.each_context(request) | {"title": "Merge two categories", "form": form}
    if chosen:
        context |= _preview(request, chosen["merge"], chosen["keep"], counts)
    return TemplateResponse(request, "admin/categories/category/merge.html", context)


def _preview(request: HttpRequest, category: Category, into: Category, counts: Any) -> dict[str, Any]:
    before, kept = (counts.get(one.pk, {}) for one in (category, into))
    after = {status: before.get(status, 0) + kept.get(status, 0) for status in PetStatus.values}
    count = sum(before.values())
    first = [*Pet.objects.filter(category=category).select_related("category").order_by("status", "pk")[:LISTED]]
    added = newest(Pet.history.all()).filter(category=category, history_type="+", actor__startswith="key ")
    counts_by_key = added.values_list("actor").annotate(count=Count("pk")).order_by("-count", "actor")
    names = names_of([actor for actor, _ in counts_by_key], request.user)
    return {
        "category": category,
        "into": into,
        "what": merging.described(category, into),
        "count": count,
        "sides": [(category, count, 0, before), (into, sum(kept.values()), sum(after.values()), after)],
        "keys": [(actor, *names[actor], number) for actor, number in counts_by_key],
        "named": first,
        "seconds": -(-count // PER_SECOND),
    }

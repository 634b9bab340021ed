"""Roles in the back office: a level for each task, never Django's permissions."""

import re
from collections.abc import Iterable
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from history.admin import OfficeAdmin
from petstore_site.staff.grants import grantable_permissions, held_by, may_edit_role, names_of, version_of_role
from petstore_site.staff.roles import ROLES
from petstore_site.staff.tasks import ALL, NO, SOME, TASKS, Task, levels_of, sentence

admin.site.unregister(Group)

MOST_PEOPLE = 20
"""How many of its people the page of a role lists."""


CHANGED_SINCE = "Not saved. Someone else changed what this role can do after you opened it. Open it again."


class RoleForm(forms.ModelForm):
    """A role's name, and a field for each task with the levels that its sender may give."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """What the role could do when the form was opened, as `version_of_role` has it."""
    editor: User
    """Who sends the form."""
    start: Group | None = None
    """The role that a new one begins as."""

    class Meta:
        model = Group
        fields: ClassVar = ["name"]
        error_messages: ClassVar = {"name": {"unique": "Another role has this name."}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        grantable = names_of(grantable_permissions(self.editor))
        if self.instance.pk:
            self.held = names_of(self.instance.permissions.all())
            self.initial["seen"] = version_of_role(self.held)
        else:
            self.held = grantable & names_of(self.start.permissions.all()) if self.start else frozenset()
        for task in TASKS.values():
            self.fields[task.name] = _field(task, self.held, grantable)

    def clean(self) -> dict[str, Any] | None:
        """Reject what would give back what someone else has taken away, without its sender having seen that."""
        cleaned = super().clean()
        if self.instance.pk:
            now = Group.objects.select_for_update(no_key=True).filter(pk=self.instance.pk).first()
            if now is None or self.cleaned_data.get("seen") != version_of_role(names_of(now.permissions.all())):
                raise ValidationError(CHANGED_SINCE, code="changed_since")
        return cleaned

    def granted(self) -> frozenset[str]:
        """Return the permissions of the chosen levels; what no task is about is kept."""
        chosen = (self._chosen(task, self.cleaned_data[task.name]) for task in TASKS.values())
        return frozenset[str]().union(*chosen) | (self.held - ALL)

    def is_limited(self) -> bool:
        """Return whether a level is missing that someone else could give."""
        return any({*task.levels} - {level for level, _ in self.fields[name].choices} for name, task in TASKS.items())  # type: ignore[attr-defined]  # ChoiceFields

    def _chosen(self, task: Task, level: str) -> frozenset[str]:
        return task.all & self.held if level == SOME else task.permissions(level)


def _field(task: Task, held: frozenset[str], grantable: frozenset[str]) -> forms.ChoiceField:
    now = task.level(held)
    choices = [(level, word) for level, word in task.levels.items() if task.permissions(level) <= grantable]
    if now == SOME:
        choices.append((SOME, "As now"))
    return forms.ChoiceField(label=task.label, choices=choices, initial=now, widget=forms.RadioSelect)


def grid(held: Iterable[str], form: forms.Form | None = None) -> list[dict[str, Any]]:
    """Return the tasks in groups, each with its level in words, and its field if there is a form."""
    levels = levels_of(held)
    rows = [
        {
            "task": task,
            "level": levels[task.name],
            "word": task.levels.get(levels[task.name], "Some"),
            "some": task.some(held) if levels[task.name] == SOME else "",
            "field": form[task.name] if form else None,
        }
        for task in TASKS.values()
    ]
    return _grouped(rows)


def compared() -> list[dict[str, Any]]:
    """Return the tasks in groups, each with the levels of the built-in roles and their words."""
    rows = []
    for task in TASKS.values():
        levels = {role: ROLES[role].get(task.name, NO) for role in ROLES}
        cells = [{"role": role, "level": level, "word": task.levels[level]} for role, level in levels.items()]
        rows.append({"task": task, "cells": cells})
    return _grouped(rows)


def _grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"label": label, "rows": list(group)} for label, group in groupby(rows, lambda row: row["task"].group)]


@admin.register(Group)
class RoleAdmin(OfficeAdmin, GroupAdmin):
    """Each migrate resets the four roles to those in `roles.py`. For another mix, add a role."""

    form = RoleForm
    fields = ("name",)
    filter_horizontal = ()
    list_display = ("name",)
    search_fields = ()
    actions = None

    def get_queryset(self, request: HttpRequest) -> Any:
        """Count the people of each role."""
        return super().get_queryset(request).annotate(people=Count("user"))

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Return whether the user can change roles, and this one: none of those in `roles.py`, and no stronger one."""
        return super().has_change_permission(request, obj) and _can_edit(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_edit(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """Return the names, not the rows that tie roles to people and permissions."""
        _, counts, lacking, protected = super().get_deleted_objects(objs, request)
        people = {role.name: role.user_set.count() for role in objs}
        names = [f"{role}, which {n} {'person has' if n == 1 else 'people have'}" for role, n in people.items()]
        return names, counts, lacking, protected

    def get_form(self, request: Any, obj: Group | None = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """Return a form that knows who sends it, and which role a new one begins as."""
        form: Any = super().get_form(request, obj, **kwargs)
        form.editor = request.user
        form.start = None if obj else _start(request)
        return form

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_related(request, form, formsets, change)
        form.instance.permissions.set(_stored(form.granted()))

    def render_change_form(self, request: Any, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form, or the levels of a role that its reader can't change."""
        role: Group | None = kwargs.get("obj")
        form: Any = context["adminform"].form
        can_edit = self.has_change_permission(request, role) if role else True
        held = names_of(role.permissions.all()) if role else form.held
        people = role.user_set.order_by("username") if role else User.objects.none()
        context |= {
            "grid": grid(held, form if can_edit else None),
            "is_limited": can_edit and form.is_limited(),
            "is_built_in": _is_built_in(role),
            "is_stronger": role is not None and not may_edit_role(request.user, role),
            "sentence": sentence(held) if role or form.start else "",
            "has_more": bool(held - ALL),
            "people": people.prefetch_related("groups")[:MOST_PEOPLE],
            "count": people.count(),
            "starts": _starts(request).order_by("name"),
            "start": form.start,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the roles, the built-in ones first, and compare those."""
        page: Any = super().changelist_view(request, extra_context)
        if "cl" in (getattr(page, "context_data", None) or {}):
            roles = _listed(page.context_data["cl"].result_list)
            own = sum(not role["is_built_in"] for role in roles)
            page.context_data |= {"roles": roles, "own": own, "groups": compared(), "built_in": list(ROLES)}
        return page


def _is_built_in(role: Group | None) -> bool:
    return role is not None and role.name in ROLES


def _can_edit(request: Any, role: Group | None) -> bool:
    return role is None or (not _is_built_in(role) and may_edit_role(request.user, role))


def _start(request: Any) -> Group | None:
    number = request.GET.get("start", "")
    return _starts(request).filter(pk=number).first() if re.fullmatch("[0-9]{1,9}", number) else None


def _starts(request: Any) -> QuerySet[Group]:
    """Return the roles that a new one can begin as: those that its maker can see."""
    return Group.objects.all() if request.user.has_perm("auth.view_group") else Group.objects.none()


def _stored(names: Iterable[str]) -> Any:
    pairs = (name.split(".") for name in names)
    wanted = [Q(content_type__app_label=app, codename=codename) for app, codename in pairs]
    return Permission.objects.filter(reduce(or_, wanted)) if wanted else Permission.objects.none()


def _listed(roles: Iterable[Any]) -> list[dict[str, Any]]:
    """Return each role with what it can do in a sentence, the built-in ones first."""
    held = held_by(roles)
    order = {name: place for place, name in enumerate(ROLES)}
    listed = sorted(roles, key=lambda role: (order.get(role.name, len(order)), role.name))
    return [{"role": role, "is_built_in": _is_built_in(role), "sentence": sentence(held[role.pk])} for role in listed]

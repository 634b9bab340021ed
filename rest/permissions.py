"""Reject unknown paths after the key is checked and before its rate limit is."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotFound
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class RouteIsKnown(BasePermission):
    """Reject a path that does not exist (404)."""

    def has_permission(self, _request: Request, _view: "APIView") -> bool:
        """Raise `NotFound`."""
        message = "This path does not exist."
        raise NotFound(message, "route_not_found")

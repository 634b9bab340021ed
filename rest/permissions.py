"""Reject unknown methods and paths after the key is checked and before its rate limit is."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import MethodNotAllowed, NotFound
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class MethodIsKnown(BasePermission):
    """Reject a method that the path does not support (405)."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Raise `MethodNotAllowed`, or return True."""
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        return True


class RouteIsKnown(BasePermission):
    """Reject a path that does not exist (404)."""

    def has_permission(self, _request: Request, _view: "APIView") -> bool:
        """Raise `NotFound`."""
        message = "This path does not exist."
        raise NotFound(message, "route_not_found")

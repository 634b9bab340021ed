"""What a request needs besides a known path: a key, and a scope that allows the method."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from petstore_site.apikeys.authentication import MISSING
from petstore_site.apikeys.models import Scope

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class HasKey(BasePermission):
    """401 where no authentication class has found a key; `BearerKeyAuthentication` says it more precisely."""

    def has_permission(self, request: Request, _view: "APIView") -> bool:
        """Raise `NotAuthenticated`, or return True."""
        if request.auth is None:
            raise NotAuthenticated(MISSING, "api_key_missing")
        return True


class ScopeAllowsMethod(BasePermission):
    """403 for a read key that wants to do more than read."""

    def has_permission(self, request: Request, _view: "APIView") -> bool:
        """Raise `PermissionDenied`, or return True."""
        if request.method not in SAFE_METHODS and getattr(request.auth, "scope", None) != Scope.WRITE:
            message = "This operation needs a key with the scope write. The scope of this key is read."
            raise PermissionDenied(message, "insufficient_scope")
        return True

"""What a request needs besides a known path, for Django REST framework: a key, a method, a scope that allows it."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from petstore_site.apikeys.admission import MISSING, allow
from rest.request import request_of

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too


class HasKey(BasePermission):
    """401 where no authentication class has found a key; `BearerKeyAuthentication` says it more precisely."""

    def has_permission(self, request: Request, _view: "APIView") -> bool:
        if request.auth is None:
            raise NotAuthenticated(MISSING, "api_key_missing")
        return True


class MethodIsAllowed(BasePermission):
    """405 for a method that the path does not support, 403 for one that the scope of the key does not allow."""

    def has_permission(self, framework_request: Request, view: "APIView") -> bool:
        allow(request_of(framework_request.META), view.allowed_methods)
        return True

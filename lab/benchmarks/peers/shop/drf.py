"""Peer: Django REST framework with a plain ModelViewSet."""

from hashlib import sha256
from typing import Any

from django.db.models import QuerySet
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.serializers import ChoiceField, ModelSerializer, PrimaryKeyRelatedField
from rest_framework.viewsets import ModelViewSet

from lab.benchmarks.peers.shop.models import Category, Key, Pet

STATUS = ChoiceField(Pet.Status.choices)


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[None, Key]:
        scheme, _, token = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer":
            raise AuthenticationFailed
        try:
            return None, Key.objects.get(digest=sha256(token).hexdigest(), revoked_at=None)
        except Key.DoesNotExist:
            raise AuthenticationFailed from None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class Pages(CursorPagination):
    ordering = "-id"
    page_size = 20
    page_size_query_param = "limit"
    max_page_size = 100

    def get_paginated_response(self, data: Any) -> Response:
        following = self.get_next_link()
        return Response(data, headers={"Link": f'<{following}>; rel="next"'} if following else None)


class PetSerializer(ModelSerializer[Pet]):
    categoryId = PrimaryKeyRelatedField(source="category", queryset=Category.objects.all())

    class Meta:
        model = Pet
        fields = ("id", "name", "categoryId", "status")


class PetViewSet(ModelViewSet[Pet]):
    authentication_classes = (KeyAuthentication,)
    queryset = Pet.objects.all()
    serializer_class = PetSerializer
    pagination_class = Pages

    def get_queryset(self) -> QuerySet[Pet]:
        pets = super().get_queryset()
        if status := self.request.query_params.get("status"):
            return pets.filter(status=STATUS.run_validation(status))
        return pets


router = SimpleRouter(trailing_slash=False)
router.register("v1/pets", PetViewSet)
urlpatterns = router.urls

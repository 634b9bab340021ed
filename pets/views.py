"""`/v1/pets`: the three operations of the interface document (section 4)."""

from typing import Any, ClassVar

from django.db import IntegrityError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from categories.models import Category
from idempotency.views import IDEMPOTENCY_ERRORS, IdempotentCreateMixin
from pets import statements
from pets.models import Pet, PetStatus
from pets.rules import NO_SUCH_CATEGORY
from pets.serializers import NewPetSerializer, PetSerializer, shown
from rest.database_errors import saving
from rest.description import BODY_ERRORS, LIST_ERRORS
from rest.errors import ErrorCode
from rest.ids import find
from rest.paging import KeysetPagination
from rest.statements import Statements


class PetPagination(KeysetPagination):
    """Pages of animals, which can be filtered by status."""

    filters: ClassVar = {"status": PetStatus}
    statements: ClassVar[Statements] = statements
    shown: ClassVar = staticmethod(shown)


@extend_schema_view(
    list=extend_schema(
        operation_id="listPets",
        tags=["pets"],
        summary="List animals",
        description="Returns a page of animals, newest first. The `Link` header has the URL of the next page, if "
        "there is one.",
        responses={200: OpenApiResponse(PetSerializer(many=True), "A page of animals, newest first.")},
    ),
    create=extend_schema(
        operation_id="createPet",
        tags=["pets"],
        summary="Add an animal",
        description="Adds an animal and returns it. Without `status` it is `available`. Fields that NewPet does not "
        "have are ignored. With an `Idempotency-Key` you can safely retry the request for 24 hours.",
        request=NewPetSerializer,
        responses={201: OpenApiResponse(PetSerializer, "The animal that was added, with its id.")},
    ),
    retrieve=extend_schema(
        operation_id="getPet",
        tags=["pets"],
        summary="Get an animal",
        description="Returns one animal. Deprecated: it will be removed on 5 December 2030. Use `GET /pets` with "
        "the `status` filter.",
        deprecated=True,
        responses={200: OpenApiResponse(PetSerializer, "The animal.")},
        parameters=[OpenApiParameter("petId", OpenApiTypes.INT64, "path", description="Identifier of the animal.")],
    ),
)
class PetViewSet(IdempotentCreateMixin, GenericViewSet[Pet]):
    """The animals of the catalogue."""

    queryset = Pet.objects.only("id", "name", "category_id", "status")
    serializer_class = PetSerializer
    pagination_class = PetPagination
    errors: ClassVar = {
        "list": LIST_ERRORS,
        "create": [*BODY_ERRORS, *IDEMPOTENCY_ERRORS],
        "retrieve": [ErrorCode.PET_NOT_FOUND],
    }
    """The errors of each action besides those of every operation, for the description."""

    def get_serializer_class(self) -> type[BaseSerializer[Pet]]:
        """Return NewPet for what comes in, Pet for what goes out."""
        return NewPetSerializer if self.action == "create" else PetSerializer

    def list(self, request: Request) -> Response:
        """Return a page of animals."""
        return PetPagination().respond(request)

    def retrieve(self, _request: Request, petId: str) -> Response:  # noqa: N803 - the interface document's name
        """Return the animal that the path names, or raise `APIError`."""
        return Response(shown(find(statements, petId, missing=ErrorCode.PET_NOT_FOUND)))

    def perform_create(self, serializer: BaseSerializer[Pet]) -> None:
        """Save the animal; its category may be deleted while that is done."""
        try:
            with saving():
                serializer.save()
        except IntegrityError:
            if Category.objects.filter(pk=serializer.validated_data["category_id"]).exists():
                raise
            raise ValidationError({"categoryId": [NO_SUCH_CATEGORY]}) from None

    def get_success_headers(self, data: Any) -> dict[str, str]:
        """Return where the new animal is."""
        return {"Location": self.request.build_absolute_uri(f"{self.request.path}/{data['id']}")}

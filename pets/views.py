"""`/v1/pets`: the three operations of the interface document (section 4)."""

from typing import Any, ClassVar

from django.db import IntegrityError, transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.reverse import reverse
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from categories.models import Category
from pets.models import ImportRun, Pet, PetStatus
from pets.rules import NO_SUCH_CATEGORY
from pets.serializers import NewPetSerializer, PetSerializer

DESCRIBE_CREATE = extend_schema(
    operation_id="createPet",
    tags=["pets"],
    summary="Add an animal",
    description="Adds an animal and returns it; without `status` it is `available`. Members that NewPet does not have "
    "are ignored. With an `Idempotency-Key` the request can be repeated safely for 24 hours.",
    request=NewPetSerializer,
    responses={201: PetSerializer},
)
"""Also for a viewset that puts its own `create` before this one."""


@extend_schema_view(
    list=extend_schema(
        operation_id="listPets",
        tags=["pets"],
        summary="List animals",
        description="Returns a page of animals, newest first. The `Link` header carries the next page's address "
        "as long as there is one.",
    ),
    create=DESCRIBE_CREATE,
    retrieve=extend_schema(
        operation_id="getPet",
        tags=["pets"],
        summary="Get an animal",
        description="Returns one animal. Deprecated, to be removed on 5 December 2030: use `GET /pets` with the "
        "`status` filter.",
        deprecated=True,
        parameters=[OpenApiParameter("petId", OpenApiTypes.INT64, "path", description="Identifier of the animal.")],
    ),
)
class PetViewSet(mixins.ListModelMixin, mixins.CreateModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Pet]):
    """The animals of the catalogue."""

    queryset = Pet.objects.only("id", "name", "category_id", "status")
    serializer_class = PetSerializer
    choice_filters: ClassVar = {"status": PetStatus}
    being_written = ImportRun.objects.writing()
    """The ids that lists step over (`KeysetPagination`)."""

    def get_serializer_class(self) -> type[BaseSerializer[Pet]]:
        """Return NewPet for what comes in, Pet for what goes out."""
        return NewPetSerializer if self.action == "create" else PetSerializer

    def get_object(self) -> Pet:
        """Return the animal that the path names, or raise `NotFound`."""
        pk = self.kwargs["petId"]
        pet = self.get_queryset().filter(pk=pk).first() if pk else None
        if pet is None:
            message = "No animal has this ID."
            raise NotFound(message, "pet_not_found")
        return pet

    def perform_create(self, serializer: BaseSerializer[Pet]) -> None:
        """Save the animal; its category may have been deleted since it was looked up."""
        try:
            with transaction.atomic():
                serializer.save()
        except IntegrityError:
            if Category.objects.filter(pk=serializer.validated_data["category_id"]).exists():
                raise
            raise ValidationError({"categoryId": [NO_SUCH_CATEGORY]}) from None

    def get_success_headers(self, data: Any) -> dict[str, str]:
        """Return where the new animal is."""
        return {"Location": reverse("pet-detail", args=[data["id"]], request=self.request)}

"""`/v1/pets`: the three operations of the interface document (section 4); `/v1/changes`: the feed."""

from typing import ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from idempotency.operations import IDEMPOTENCY_ERRORS
from pets.operations import CHANGES, PETS, create_pet, get_pet, list_changes, list_pets
from pets.serializers import NewPetSerializer, PetChangeSerializer, PetSerializer
from rest.description import BODY_ERRORS, LIST_ERRORS
from rest.errors import ErrorCode
from rest.viewsets import OperationViewSet


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
class PetViewSet(OperationViewSet):
    """The animals of the catalogue."""

    serializer_class = PetSerializer
    listing = PETS
    operations: ClassVar = {"list": list_pets, "create": create_pet, "retrieve": get_pet}
    errors: ClassVar = {
        "list": LIST_ERRORS,
        "create": [*BODY_ERRORS, *IDEMPOTENCY_ERRORS],
        "retrieve": [ErrorCode.PET_NOT_FOUND],
    }


@extend_schema_view(
    list=extend_schema(
        operation_id="listChanges",
        tags=["changes"],
        summary="List changes",
        description="Returns the animals that were added, changed or deleted, so that a copy of the catalogue stays in "
        "step. Call it without `cursor` first: the feed begins now, and the page is empty. Then read all animals. Then "
        "follow the `next` link, which every page has, and save or remove each animal that a page lists. An empty page "
        "means that nothing more can be listed now: call its `next` link again later. Each animal is listed once per "
        "page, as it is when you ask. It can be listed again without a change. A change is listed when all "
        "transactions that began before it have ended, so a running import delays it: `Changes-Delayed-Since` says "
        "since when. The feed is an addition of this service to version 1.0.0 of the interface.",
        responses={200: OpenApiResponse(PetChangeSerializer(many=True), "A page of changes.")},
    )
)
class ChangeViewSet(OperationViewSet):
    """The feed of changes."""

    serializer_class = PetChangeSerializer
    listing = CHANGES
    operations: ClassVar = {"list": list_changes}
    errors: ClassVar = {"list": [*LIST_ERRORS, ErrorCode.CURSOR_EXPIRED]}

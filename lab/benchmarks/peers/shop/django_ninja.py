"""Peer: django-ninja."""

from hashlib import sha256

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from ninja import Field, NinjaAPI, Query, Schema
from ninja.errors import HttpError
from ninja.security import HttpBearer

from lab.benchmarks.peers.shop.models import Key, Pet


class KeyAuthentication(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> Key | None:
        return Key.objects.filter(digest=sha256(token.encode()).hexdigest(), revoked_at=None).first()


class NewPet(Schema):
    name: str = Field(min_length=1, max_length=255)
    categoryId: int
    status: Pet.Status = Pet.Status.AVAILABLE


class PetOut(Schema):
    id: int
    name: str
    categoryId: int = Field(alias="category_id")
    status: Pet.Status


class Page(Schema):
    limit: int = Field(20, ge=1, le=100)
    status: Pet.Status | None = None
    before: int | None = None


api = NinjaAPI(auth=KeyAuthentication(), docs_url=None, openapi_url=None)


@api.get("/pets", response=list[PetOut])
def list_pets(request: HttpRequest, response: HttpResponse, page: Query[Page]) -> list[Pet]:
    pets = Pet.objects.order_by("-id")
    if page.status:
        pets = pets.filter(status=page.status)
    if page.before:
        pets = pets.filter(id__lt=page.before)
    rows = list(pets[: page.limit + 1])
    if len(rows) > page.limit:
        query = request.GET.copy()
        query["before"] = rows[page.limit - 1].id
        response["Link"] = f'<{request.build_absolute_uri(request.path)}?{query.urlencode()}>; rel="next"'
    return rows[: page.limit]


@api.get("/pets/{int:pet_id}", response=PetOut)
def get_pet(request: HttpRequest, pet_id: int) -> Pet:
    return get_object_or_404(Pet, id=pet_id)


@api.post("/pets", response={201: PetOut})
def create_pet(request: HttpRequest, response: HttpResponse, new: NewPet) -> tuple[int, Pet]:
    try:
        pet = Pet.objects.create(name=new.name, category_id=new.categoryId, status=new.status)
    except IntegrityError:
        raise HttpError(400, "categoryId names no category.") from None
    response["Location"] = request.build_absolute_uri(f"/v1/pets/{pet.id}")
    return 201, pet


urlpatterns = [path("v1/", api.urls)]

"""A typed client for the Pet Store API: all pages, retries that add nothing twice, an exception for each error code."""

from petstore_client import errors
from petstore_client.asynchronous import AsyncPetStore
from petstore_client.client import ChangesPage, PetStore
from petstore_client.errors import PetStoreError
from petstore_client.generated.models import Category, NewPet, Pet, PetChange, PetStatus
from petstore_client.responses import RateLimit, ResponseInfo
from petstore_client.retrying import Options

__all__ = [
    "AsyncPetStore",
    "Category",
    "ChangesPage",
    "NewPet",
    "Options",
    "Pet",
    "PetChange",
    "PetStatus",
    "PetStore",
    "PetStoreError",
    "RateLimit",
    "ResponseInfo",
    "errors",
]

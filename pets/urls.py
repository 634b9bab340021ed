"""The paths of animals, below /v1."""

from django.urls import URLPattern, path

from pets.views import PetViewSet


def urls(viewset: type[PetViewSet] = PetViewSet) -> list[URLPattern]:
    """Return the paths; the site may serve a viewset that does more, such as repeating safely."""
    return [
        path("pets", viewset.as_view({"get": "list", "post": "create"}), name="pet-list"),
        path("pets/<int64:petId>", viewset.as_view({"get": "retrieve"}), name="pet-detail"),
    ]

"""The paths of animals, below /v1."""

from django.urls import path

from pets.views import ChangeViewSet, PetViewSet

urlpatterns = [
    path("changes", ChangeViewSet.as_view({"get": "list"}), name="change-list"),
    path("pets", PetViewSet.as_view({"get": "list", "post": "create"}), name="pet-list"),
    path("pets/<str:petId>", PetViewSet.as_view({"get": "retrieve"}), name="pet-detail"),
]

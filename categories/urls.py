"""The paths of categories, below /v1."""

from django.urls import path

from categories.views import CategoryViewSet

urlpatterns = [
    path("categories", CategoryViewSet.as_view({"get": "list"}), name="category-list"),
    path("categories/<str:categoryId>", CategoryViewSet.as_view({"get": "retrieve"}), name="category-detail"),
]

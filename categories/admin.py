"""Categories in the back office."""

from django.contrib import admin

from categories.models import Category


@admin.register(Category)
class CategoryAdmin(admin.ModelAdmin):
    """Search, add, rename; a category that animals belong to cannot be deleted."""

    list_display = ["name", "id", "created_at", "updated_at"]
    search_fields = ["name"]
    list_filter = ["created_at"]
    readonly_fields = ["created_at", "updated_at"]

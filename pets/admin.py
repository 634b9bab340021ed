"""Animals in the back office."""

from django.contrib import admin

from pets.models import Pet


@admin.register(Pet)
class PetAdmin(admin.ModelAdmin):
    """Search, filter, add and change; the list has no total of the unfiltered catalogue beside its own."""

    list_display = ["name", "id", "category", "status", "external_reference", "created_at"]
    list_filter = ["status", "category", "created_at"]
    list_select_related = ["category"]
    search_fields = ["name", "=id", "=external_reference"]
    autocomplete_fields = ["category"]
    readonly_fields = ["created_at", "updated_at"]
    ordering = ["-id"]
    show_full_result_count = False

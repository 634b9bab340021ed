"""What the API description says besides its operations."""

from typing import Any

DESCRIPTION = """A pet store's catalogue of animals: list them, filter them by availability, add one, fetch one.

Every operation needs an API key: `Authorization: Bearer <API_KEY>`. Every error is an `Error`; its `code` is \
for programs, its `message` for people. Rate limits, idempotency, conditional requests, categories and the feed of \
changes are additions to version 1.0.0 of the interface that clients can ignore."""


def openapi_of(production: str, staging: str) -> dict[str, Any]:
    """Return drf-spectacular's settings for the addresses of the API in production and staging."""
    return {
        "TITLE": "Pet Store",
        "DESCRIPTION": DESCRIPTION,
        "VERSION": "1.0.0",
        "CONTACT": {"name": "Support", "url": f"{production.removesuffix('/v1')}/docs/guide/#request-ids-and-support"},
        "LICENSE": {"name": "MIT", "identifier": "MIT"},
        "OAS_VERSION": "3.1.0",
        "SERVERS": [{"url": production, "description": "Production"}, {"url": staging, "description": "Staging"}],
        "TAGS": [
            {"name": "pets", "x-displayName": "Animals", "description": "The animals of the catalogue."},
            {
                "name": "categories",
                "x-displayName": "Categories",
                "description": "An addition to version 1.0.0: the valid values of `categoryId`.",
            },
            {
                "name": "changes",
                "x-displayName": "Changes",
                "description": "An addition to version 1.0.0: what a copy of the catalogue needs to stay in step.",
            },
        ],
        "SCHEMA_PATH_PREFIX": "/v1",
        "SCHEMA_PATH_PREFIX_TRIM": True,
        "ENUM_NAME_OVERRIDES": {"PetStatus": "pets.models.PetStatus", "ChangeKind": "pets.serializers.CHANGES"},
        "PREPROCESSING_HOOKS": ["rest.description.only_versioned_paths"],
        "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "rest.description.add_components"],
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    }

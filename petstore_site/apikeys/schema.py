"""How the published description shows the keys."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The one security scheme of the API (interface document, section 5); importing registers it."""

    target_class = "petstore_site.apikeys.admission.BearerKeyAuthentication"
    name = "bearerAuth"

    def get_security_definition(self, _auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key that the store gave you, sent as `Authorization: Bearer <API_KEY>`. "
            "Keys of production begin with `pets_live_`, keys of staging with `pets_test_`.",
        }

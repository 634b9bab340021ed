"""The request that a sample sends, for an operation such as no version of the API has yet."""

from petstore_site.portal.samples import SampleRequest, request


def test_a_change_sends_its_fields_although_none_is_required() -> None:
    pet = {"id": 360, "name": "Biscuit", "status": "available"}
    operation = {
        "parameters": [{"name": "petId", "in": "path"}],
        "requestBody": {"content": {"application/json": {"schema": {"properties": {"status": {}}}}}},
        "responses": {"200": {"content": {"application/json": {"examples": {"Biscuit": {"value": pet}}}}}},
    }
    assert request("/pets/{petId}", "patch", operation, resolve=lambda schema: schema) == SampleRequest(
        "PATCH", "https://petstore.example/v1/pets/360", {"petId": 360}, {}, '{"status": "available"}', idempotent=False
    )

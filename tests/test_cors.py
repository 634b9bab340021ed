"""CORS: off by default; where origins are configured, errors carry it too."""

import runpy
from typing import Any

import pytest

from tests.conftest import ApiClient
from tests.server import ROOT

SHOP = "https://shop.example"


@pytest.fixture
def open_to_the_shop(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the settings as they are read with the variable set."""
    monkeypatch.setenv("CORS_ALLOWED_ORIGINS", SHOP)
    read = runpy.run_path(str(ROOT / "petstore_site" / "settings.py"))
    settings.CORS_ALLOWED_ORIGINS = read["CORS_ALLOWED_ORIGINS"]


def test_off_by_default(api: ApiClient) -> None:
    answer = api.get("/v1/pets", Origin=SHOP)
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.usefixtures("open_to_the_shop")
def test_other_origins_and_pages_get_nothing(api: ApiClient) -> None:
    for answer in (api.get("/v1/pets", Origin="https://evil.example"), api.get("/", Origin=SHOP)):
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_preflight_while_cors_is_off(stranger: ApiClient) -> None:
    answer = stranger("OPTIONS", "/v1/pets", Origin=SHOP, Access_Control_Request_Method="POST")
    assert (answer.status_code, answer["Allow"]) == (204, "GET, POST, HEAD, OPTIONS")
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


class TestDescription:
    @pytest.fixture(params=[False, True])
    def _with_and_without_origins(self, request: pytest.FixtureRequest) -> None:
        if request.param:
            request.getfixturevalue("open_to_the_shop")

    @pytest.mark.usefixtures("_with_and_without_origins")
    @pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
    def test_any_origin_may_read_it(self, stranger: ApiClient, method: str) -> None:
        answer = stranger(method, "/openapi.json", Origin="https://editor.example")
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "ETag" in answer["Access-Control-Expose-Headers"]

    def test_preflight(self, stranger: ApiClient) -> None:
        asked = {"Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": "if-none-match"}
        answer = stranger("OPTIONS", "/openapi.json", Origin="https://editor.example", **asked)
        assert (answer.status_code, answer.content, answer["Allow"]) == (204, b"", "GET, HEAD, OPTIONS")
        assert (answer["Access-Control-Allow-Origin"], answer["Access-Control-Allow-Headers"]) == ("*", "*")

    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    @pytest.mark.parametrize("written", ["{}", "W/{}", '"other", {}', "*"])
    def test_the_same_description_is_not_sent_again(self, stranger: ApiClient, method: str, written: str) -> None:
        first = stranger.get("/openapi.json")
        again = stranger(method, "/openapi.json", If_None_Match=written.format(first["ETag"]))
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        assert again["Access-Control-Allow-Origin"] == "*"

    def test_another_description_is_sent(self, stranger: ApiClient) -> None:
        answer = stranger.get("/openapi.json", If_None_Match='"other"', If_Match='"other"')
        assert (answer.status_code, answer.json()["openapi"]) == (200, "3.1.0")

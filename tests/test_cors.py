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
    settings.MIDDLEWARE = read["MIDDLEWARE"]


def test_off_by_default(api: ApiClient) -> None:
    answer = api.get("/v1/pets", Origin=SHOP)
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.usefixtures("open_to_the_shop")
def test_answers_and_errors(api: ApiClient, stranger: ApiClient) -> None:
    answers = [
        api.get("/v1/pets", Origin=SHOP),
        api.get("/v1/pets?limit=0", Origin=SHOP),
        stranger.get("/v1/pets", Origin=SHOP),
    ]
    assert [answer.status_code for answer in answers] == [200, 400, 401]
    for answer in answers:
        assert answer["Access-Control-Allow-Origin"] == SHOP
        assert set(answer["Access-Control-Expose-Headers"].split(", ")) >= {"Link", "ETag", "Location", "X-Request-ID"}
        assert "origin" in answer["Vary"].lower()


@pytest.mark.usefixtures("open_to_the_shop")
def test_other_origins_and_pages_get_nothing(api: ApiClient) -> None:
    for answer in (api.get("/v1/pets", Origin="https://evil.example"), api.get("/", Origin=SHOP)):
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.usefixtures("open_to_the_shop")
def test_preflight(stranger: ApiClient) -> None:
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "authorization,content-type"}
    answer = stranger("OPTIONS", "/v1/pets", Origin=SHOP, **asked)
    assert answer.status_code == 200
    assert answer["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS, POST"
    assert "idempotency-key" in answer["Access-Control-Allow-Headers"]

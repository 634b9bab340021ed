"""Addresses that people guess, mistype, or leave to their browser."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import error

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
NOT_FOUND = error("route_not_found", "This path does not exist.", 404)


def test_a_browser_gets_a_page(client: Client) -> None:
    answer = client.get("/docs/guid", headers=BROWSER)
    page = answer.content.decode()
    assert (answer.status_code, answer["Vary"]) == (404, "Accept")
    assert "<h1>This page does not exist</h1>" in page
    assert "<dialog" in page


@pytest.mark.parametrize("path", ["/nope", "/docs/guid"])
def test_a_client_gets_an_error(client: Client, path: str) -> None:
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


def test_the_api_answers_a_browser_with_an_error_too(client: Client) -> None:
    answer = client.get("/v1/nope", headers=BROWSER)
    assert answer["Content-Type"] == "application/json"


def test_what_is_asked_for_cannot_become_markup(client: Client) -> None:
    page = client.get("/docs/<script>alert(1)</script>", headers=BROWSER).content.decode()
    assert "<script>alert" not in page


def test_the_icon(client: Client) -> None:
    assert client.get("/favicon.ico")["Location"] == "/static/petstore/icon-development.svg"


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ("production", "User-agent: *\nDisallow: /admin/\nDisallow: /v1/\n"),
        ("staging", "User-agent: *\nDisallow: /\n"),
    ],
)
def test_search_engines_find_production_only(client: Client, settings: Any, environment: str, text: str) -> None:
    settings.PETSTORE_ENVIRONMENT = environment
    assert client.get("/robots.txt").content.decode() == text


def test_where_to_report_a_vulnerability(client: Client, settings: Any) -> None:
    """RFC 9116: the date is in the future, and at most a year away."""
    settings.SECURITY_CONTACT = "mailto:security@petstore.example"
    answer = client.get("/.well-known/security.txt")
    contact, expires, languages = answer.content.decode().splitlines()
    assert (contact, languages) == ("Contact: mailto:security@petstore.example", "Preferred-Languages: en")
    assert 30 < (datetime.fromisoformat(expires.removeprefix("Expires: ")) - timezone.now()).days < 365
    assert answer["Content-Type"] == "text/plain; charset=utf-8"


def test_without_an_address_there_is_no_file_that_names_one(client: Client) -> None:
    assert client.get("/.well-known/security.txt").status_code == 404

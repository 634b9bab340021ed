"""The search of the portal: the right page comes first, whatever word for it is typed."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

RIGHT = {
    "pagination": "/docs/guide/#lists-and-paging",
    "paging": "/docs/guide/#lists-and-paging",
    "next page": "/docs/guide/#lists-and-paging",
    "total count": "/docs/guide/#lists-and-paging",
    "page size": "/docs/guide/#what-we-dont-offer",
    "sort": "/docs/guide/#what-we-dont-offer",
    "order by name": "/docs/guide/#what-we-dont-offer",
    "filter by status": "/docs/guide/#filters",
    "filter": "/docs/guide/#filters",
    "limit": "/docs/#listPets",
    "throttling": "/docs/guide/#rate-limits",
    "rate limit": "/docs/guide/#rate-limits",
    "quota": "/docs/guide/#rate-limits",
    "429": "/docs/errors/rate_limited",
    "too many requests": "/docs/errors/rate_limited",
    "sandbox": "/docs/guide/#environments",
    "staging": "/docs/guide/#environments",
    "base url": "/docs/guide/#introduction",
    "duplicate": "/docs/guide/#add-animals-safely",
    "idempotent": "/docs/guide/#add-animals-safely",
    "Idempotency-Key": "/docs/#createPet",
    "backoff": "/docs/guide/#retries-and-timeouts",
    "retry": "/docs/guide/#retries-and-timeouts",
    "timeouts": "/docs/guide/#retries-and-timeouts",
    "delete": "/docs/guide/#what-we-dont-offer",
    "update an animal": "/docs/guide/#what-we-dont-offer",
    "patch": "/docs/guide/#what-we-dont-offer",
    "webhooks": "/docs/guide/#what-we-dont-offer",
    "csv export": "/docs/guide/#what-we-dont-offer",
    "bulk": "/docs/guide/#what-we-dont-offer",
    "login": "/docs/guide/#authentication",
    "bearer token": "/docs/guide/#authentication",
    "rotate key": "/docs/guide/#authentication",
    "cors": "/docs/guide/#authentication",
    "403": "/docs/errors/insufficient_scope",
    "forbidden": "/docs/errors/insufficient_scope",
    "500": "/docs/errors/internal_error",
    "internal server error": "/docs/errors/internal_error",
    "invalid json": "/docs/errors/malformed_json",
    "payload too large": "/docs/errors/body_too_large",
    "expired key": "/docs/errors/api_key_expired",
    "etag": "/docs/#listPets",
    "not modified": "/docs/guide/#conditional-requests",
    "caching": "/docs/guide/#conditional-requests",
    "sync": "/docs/guide/#keep-a-copy-in-step",
    "mirror": "/docs/guide/#keep-a-copy-in-step",
    "deprecated": "/docs/guide/#deprecations",
    "breaking changes": "/docs/guide/#versioning",
    "release notes": "/docs/changelog/",
    "support": "/docs/guide/#request-ids-and-support",
    "correlation id": "/docs/guide/#request-ids-and-support",
    "python": "/docs/clients/",
    "javascript": "/docs/clients/#typescript",
    "asyncio": "/docs/clients/#python-asynchronous",
    "create pet": "/docs/#createPet",
    "list pets": "/docs/#listPets",
    "get pet by id": "/docs/#getPet",
    "postman": "/docs/guide/#tools-and-clients",
    "swagger": "/docs/guide/#tools-and-clients",
    "getting started": "/docs/guide/#quick-start",
    "paginaton": "/docs/guide/#lists-and-paging",
    "webhok": "/docs/guide/#what-we-dont-offer",
    "throtling": "/docs/guide/#rate-limits",
    "authentification": "/docs/guide/#authentication",
    "idempotancy": "/docs/#createPet",
    "how do i paginate": "/docs/guide/#lists-and-paging",
    "offset": "/docs/guide/#lists-and-paging",
    "order results": "/docs/guide/#what-we-dont-offer",
    "oauth": "/docs/guide/#authentication",
    "secret leaked": "/docs/guide/#authentication",
    "requests per minute": "/docs/guide/#rate-limits",
    "Retry-After": "/docs/#listPets",
    "exponential backoff": "/docs/guide/#retries-and-timeouts",
    "double post": "/docs/guide/#add-animals-safely",
    "replica": "/docs/guide/#keep-a-copy-in-step",
    "changes feed": "/docs/#listChanges",
    "If-None-Match": "/docs/#listPets",
    "304": "/docs/guide/#conditional-requests",
    "excel": "/docs/guide/#what-we-dont-offer",
    "go client": "/docs/guide/#what-we-dont-offer",
    "openapi": "/docs/guide/#tools-and-clients",
    "409 conflict": "/docs/errors/idempotency_in_progress",
    "422": "/docs/errors/idempotency_key_reused",
    "415": "/docs/errors/unsupported_media_type",
    "trailing slash": "/docs/errors/route_not_found",
    "revoked": "/docs/errors/api_key_revoked",
    "nodejs": "/docs/clients/#typescript",
    "pip install": "/docs/clients/",
    "x-request-id": "/docs/#listPets",
    "emoji in name": "/docs/guide/#add-animals-safely",
    "sold animals": "/docs/guide/#filters",
    "remove pet": "/docs/guide/#what-we-dont-offer",
    "uptime": "/docs/errors/unavailable",
    "semver": "/docs/guide/#versioning",
    "link header": "/docs/guide/#lists-and-paging",
    "fetch all animals": "/docs/#listPets",
    "max limit": "/docs/#listPets",
    "mark as sold": "/docs/guide/#what-we-dont-offer",
    "graphql": "/docs/guide/#what-we-dont-offer",
    "websocket": "/docs/guide/#what-we-dont-offer",
    "key prefix": "/docs/guide/#environments",
    "read only mode": "/docs/#listPets",
    "json rounding": "/docs/guide/#tools-and-clients",
    "bigint": "/docs/guide/#tools-and-clients",
    "service down": "/docs/errors/unavailable",
    "conflict": "/docs/errors/idempotency_in_progress",
    "gzip": "/docs/errors/unsupported_media_type",
    "wrong key": "/docs/errors/api_key_invalid",
    "newest first": "/docs/#listPets",
    "java": "/docs/guide/#what-we-dont-offer",
    "mypy types": "/docs/clients/",
    "incremental sync": "/docs/guide/#keep-a-copy-in-step",
    "stale copy": "/docs/guide/#keep-a-copy-in-step",
    "when will getpet be removed": "/docs/guide/#deprecations",
    "latency": "/docs/guide/#retries-and-timeouts",
    "race condition": "/docs/guide/#add-animals-safely",
    "no results": "/docs/guide/#filters",
    "nightly job": "/docs/guide/#keep-a-copy-in-step",
    "decommission": "/docs/guide/#deprecations",
    "offline": "/docs/errors/unavailable",
    "troubleshooting": "/docs/guide/#errors",
    "http methods": "/docs/errors/method_not_allowed",
    "endpoints": "/docs/",
    "undo": "/docs/guide/#what-we-dont-offer",
    "photos": "/docs/guide/#what-we-dont-offer",
    "slow": "/docs/guide/#retries-and-timeouts",
    "migrate to v2": "/docs/guide/#deprecations",
    "breeds": "/docs/#categories",
    "cron": "/docs/guide/#keep-a-copy-in-step",
    "ssl": "/docs/guide/#authentication",
    "hacked": "/docs/guide/#authentication",
    "bandwidth": "/docs/guide/#conditional-requests",
    "where do i get a key": "/docs/clients/#python-get-a-key",
    "best practices": "/docs/guide/",
}
"""What people type → the address that it should lead to."""

ADDRESSES = "[...document.querySelectorAll('.search-hits a')].map((link) => link.getAttribute('href'))"


def search_for(page: Page, text: str) -> Any:
    page.keyboard.press("/")
    page.keyboard.type(text)
    hits = page.locator(".search-hits li")
    expect(hits.first).to_be_visible()
    return hits


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("rate_limited", ("Errors", "rate_limited")),
        ("rate limits", ("Guide", "Rate limits")),
        ("idempotency-key", ("API reference", "Idempotency-Key")),
        ("max_wait", ("Clients", "max_wait")),
        ("pagin", ("Guide", "Lists and paging")),
        ("webhok", ("Guide", "Webhooks and events")),
        ("sdk", ("Guide", "Other SDKs")),
        ("webhook", ("Guide", "Webhooks and events")),
        ("csv", ("Guide", "Import and export as CSV")),
        ("page size", ("Guide", "Search, sorting and page size")),
        ("update", ("Guide", "Update and delete")),
        ("add an animal", ("API reference", "Add an animal")),
    ],
)
def test_the_best_answer_of_a_search_is_the_first(page: Page, text: str, first: tuple[str, str]) -> None:
    page.goto("/docs/errors/pet_not_found")
    hit = search_for(page, text).first
    assert (hit.locator(".hit-place").inner_text(), hit.locator(".hit-title").inner_text()) == first


def test_a_hit_leads_to_its_section(page: Page) -> None:
    page.goto("/")
    search_for(page, "safely").filter(has_text="GuideAdd animals safely").click()
    page.wait_for_url("**/docs/guide/#add-animals-safely")


def test_one_escape_closes_the_search(page: Page) -> None:
    page.goto("/docs/")
    search_for(page, "paging")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.search")).not_to_be_visible()


def test_a_search_without_a_hit_says_so(page: Page) -> None:
    page.goto("/docs/")
    page.keyboard.press("/")
    page.keyboard.type("zyzzyva")
    expect(page.locator(".search-none")).to_contain_text("Nothing found for “zyzzyva”.")


def test_the_right_page_is_first_for_nine_of_ten_queries_and_missing_for_none(page: Page) -> None:
    page.goto("/docs/changelog/")
    search_for(page, "x")
    found = {}
    for text in RIGHT:
        page.get_by_label("Search for").fill(text)
        found[text] = page.evaluate(ADDRESSES)
    assert [text for text, address in RIGHT.items() if address not in found[text]] == []
    later = [text for text, address in RIGHT.items() if found[text][0] != address]
    assert len(later) <= len(RIGHT) // 10, later

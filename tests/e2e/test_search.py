"""The search of the portal: the right page comes first, whatever word for it is typed."""

from typing import Any

from playwright.sync_api import Page, expect

LEADS = """
/docs/guide/#lists-and-paging: pagination, paging, next page, total count, starting_after, nextPageToken, paginaton, how do i paginate, offset, link header
/docs/guide/#what-we-dont-offer: page size, sort, order by name, delete, update an animal, patch, webhooks, csv export, bulk, webhok, order results, excel, go client, remove pet, mark as sold, graphql, websocket, java, undo, photos, updatePet, change status by API, search by name, photoUrls, updated_at, timezone
/docs/guide/#filters: findPetsByStatus, filter by status, filter, sold animals, no results
/docs/#listPets: limit, etag, list pets, Retry-After, If-None-Match, x-request-id, fetch all animals, max limit, newest first
/docs/guide/#rate-limits: throttling, rate limit, quota, throtling, requests per minute
/docs/errors/rate_limited: 429, too many requests
/docs/guide/#environments: sandbox, staging, key prefix
/docs/guide/#introduction: base url
/docs/guide/#add-animals-safely: duplicate, idempotent, double post, emoji in name, race condition
/docs/#createPet: Idempotency-Key, create pet, idempotancy
/docs/guide/#retries-and-timeouts: backoff, retry, timeouts, exponential backoff, latency, slow
/docs/guide/#authentication: login, X-API-Key, apiKey, bearer token, rotate key, cors, authentification, oauth, secret leaked, ssl, hacked
/docs/errors/insufficient_scope: 403, forbidden
/docs/errors/internal_error: 500, internal server error
/docs/errors/malformed_json: invalid json
/docs/errors/body_too_large: payload too large
/docs/errors/api_key_expired: expired key
/docs/guide/#conditional-requests: not modified, caching, 304, bandwidth
/docs/guide/#keep-a-copy-in-step: sync, mirror, replica, incremental sync, stale copy, nightly job, cron
/docs/guide/#deprecations: deprecated, when will getpet be removed, decommission, migrate to v2
/docs/guide/#versioning: breaking changes, semver
/docs/changelog/: release notes
/docs/guide/#request-ids-and-support: support, correlation id
/docs/clients/ /docs/clients/#python: python, pip install, mypy types
/docs/clients/#stop: cancel
/docs/clients/#typescript: javascript, JavaScript, nodejs
/docs/clients/#asynchronous: asyncio
/docs/#getPet: get pet by id
/docs/guide/#tools-and-clients: llm, yaml, postman, swagger, openapi, json rounding, bigint
/docs/guide/#quick-start: getting started
/docs/#listChanges: changes feed
/docs/errors/idempotency_in_progress: 409 conflict, conflict
/docs/errors/idempotency_key_reused: 422
/docs/errors/unsupported_media_type: 415, gzip
/docs/errors/route_not_found: trailing slash
/docs/errors/api_key_revoked: revoked
/docs/errors/unavailable: uptime, service down, offline
/docs/errors/api_key_invalid: wrong key
/docs/guide/#errors: troubleshooting
/docs/errors/method_not_allowed: http methods
/docs/: endpoints
/docs/#categories: breeds
/docs/clients/#get-a-key: where do i get a key
/docs/guide/: best practices
"""


def right(lines: str) -> dict[str, list[str]]:
    """Return what people type → the addresses that it should lead to."""
    pairs = (line.split(": ") for line in lines.strip().splitlines())
    return {text: addresses.split() for addresses, texts in pairs for text in texts.split(", ")}


ADDRESSES = "[...document.querySelectorAll('.search-hits a')].map((link) => link.getAttribute('href'))"


def search_for(page: Page, text: str) -> Any:
    page.keyboard.press("/")
    page.keyboard.type(text)
    hits = page.locator(".search-hits li")
    expect(hits.first).to_be_visible()
    return hits


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


def test_the_right_page_is_first_for_most_queries(page: Page) -> None:
    page.goto("/docs/changelog/")
    search_for(page, "x")
    places = {}
    for text, addresses in right(LEADS).items():
        page.get_by_label("Search for").fill(text)
        found = page.evaluate(ADDRESSES)
        places[text] = next((at for at, address in enumerate(found) if address in addresses), None)
    nowhere = [text for text, at in places.items() if at is None]
    later = [text for text, at in places.items() if at != 0]
    assert nowhere == []
    assert len(later) <= 0.1 * len(places), later

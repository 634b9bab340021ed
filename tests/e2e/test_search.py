"""The search of the portal: the right page comes first, whatever word for it is typed."""

from typing import Any

import pytest
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

DRAWN = """
/docs/#createPet /docs/guide/#add-animals-safely: addPet
/docs/guide/#what-we-dont-offer: updatePet, updatePetWithForm, deletePet, uploadFile, placeOrder, getOrderById, deleteOrder, createUsersWithListInput, getUserByName, photoUrls, Timezones, Metadata, Webhook signing, Bulk updates, File uploads, Updates a pet, Product images, Bulk operations, created_at
/docs/guide/#filters /docs/#listPets: findPetsByStatus
/docs/guide/#filters /docs/guide/#what-we-dont-offer /docs/#listCategories /docs/#categories: findPetsByTags
/docs/#getPet: getPetById, Retrieve a single pet
/docs/guide/#what-we-dont-offer /docs/guide/#lists-and-paging: getInventory
/docs/guide/#authentication: loginUser, petstore_auth, Using CORS and JSONP, Store your authentication credentials securely, Handle compromised keys, Access-Token, Token exchange
/docs/guide/#authentication /docs/errors/api_key_missing: api_key, Requires authentication
/docs/guide/#rate-limits /docs/#listPets: X-Rate-Limit, x-ratelimit-remaining
/docs/guide/#authentication /docs/#listPets /docs/errors/api_key_expired: X-Expires-After
/docs/guide/#authentication /docs/errors/insufficient_scope: write:pets, Limit the permissions of your credentials, Restricted API keys, Scopes and permissions
/docs/#getPet /docs/errors/pet_not_found /docs/errors/route_not_found: Invalid ID supplied
/docs/errors/pet_not_found: Pet not found
/docs/errors/unsupported_media_type /docs/guide/#introduction /docs/guide/#what-we-dont-offer: application/xml
/docs/errors/validation_failed: Validation exception
/docs/guide/#conditional-requests /docs/guide/#keep-a-copy-in-step: Avoid polling
/docs/guide/#rate-limits /docs/guide/#what-we-dont-offer /docs/guide/#add-animals-safely: Avoid concurrent requests
/docs/guide/#lists-and-paging: Do not manually parse URLs, starting_after, ending_before, page_info
/docs/guide/#lists-and-paging /docs/guide/#filters: Missing results
/docs/errors/insufficient_scope /docs/guide/#authentication: Resource not accessible
/docs/errors/malformed_json: Problems parsing JSON
/docs/errors/malformed_json /docs/errors/validation_failed: Body should be a JSON object
/docs/guide/#versioning: Not a supported version, Specifying an API version, Versioned and unversioned APIs
/docs/guide/#rate-limits /docs/errors/rate_limited: Exceeding the rate limit, Avoiding rate limit errors
/docs/guide/#rate-limits: Checking the status of your rate limit, API call limit, Leaky bucket
/docs/guide/#lists-and-paging /docs/#listPets: Using link headers
/docs/guide/#lists-and-paging /docs/#listPets /docs/guide/#what-we-dont-offer: Changing the number of items per page, per_page
/docs/guide/#lists-and-paging /docs/clients/#all-pages: Scripting with pagination, Paginated requests
/docs/guide/#versioning /docs/guide/#deprecations: Upgrading to a new API version
/docs/errors/unsupported_media_type /docs/guide/#introduction: Media types
/docs/errors/method_not_allowed /docs/: HTTP method
/docs/guide/#quick-start: Making a request
/docs/guide/#errors /docs/clients/#errors: Handling errors
/docs/guide/#add-animals-safely: Idempotent requests
/docs/clients/#all-pages /docs/guide/#lists-and-paging: Auto-pagination
/docs/guide/#request-ids-and-support /docs/#listPets /docs/clients/#request-ids-and-limits: Request-Id
/docs/guide/#environments /docs/guide/#authentication: Domains and IP addresses
/docs/guide/#what-we-dont-offer /docs/guide/#filters: Search objects
/docs/guide/#environments: Testing and data, Test your application
/docs/guide/#error-codes: HTTP Status Code Summary
/docs/guide/#retries-and-timeouts /docs/errors/unavailable /docs/clients/#errors: api_connection_error
/docs/errors/idempotency_key_reused /docs/errors/idempotency_in_progress /docs/guide/#add-animals-safely: idempotency_error
/docs/errors/validation_failed /docs/errors/bad_request /docs/errors/invalid_parameter: invalid_request_error
/docs/errors/api_key_invalid /docs/errors/api_key_missing /docs/guide/#authentication: authentication_error
/docs/guide/#retries-and-timeouts /docs/clients/#retries-and-timeouts: Network retries
/docs/clients/#proxies-and-tests /docs/clients/#other-operations /docs/clients/ /docs/clients/#typescript /docs/clients/#retries-and-timeouts: Configuring a Proxy
/docs/clients/#asynchronous /docs/clients/#all-pages: Async iterators
/docs/clients/#typescript: Usage with Deno
/docs/guide/#lists-and-paging /docs/guide/#what-we-dont-offer: Retrieve a count
/docs/#listPets: Retrieve a list of pets
/docs/guide/#lists-and-paging /docs/guide/#keep-a-copy-in-step /docs/#listChanges: since_id
/docs/changelog/ /docs/changelog/#upcoming /docs/changelog/#releases /docs/guide/#deprecations /docs/guide/#versioning: Release schedule
/docs/guide/#deprecations: Deprecation practices
/docs/guide/#error-codes /docs/guide/#errors: Response status and error codes
/docs/errors/api_key_missing /docs/errors/api_key_invalid /docs/guide/#authentication: 401 Unauthorized
/docs/guide/#tools-and-clients /docs/clients/ /docs/guide/#what-we-dont-offer: Client libraries
/docs/guide/#what-we-dont-offer /docs/guide/#tools-and-clients: Ruby
/docs/guide/#request-ids-and-support /docs/guide/#errors: Debugging HTTP requests
/docs/guide/#deprecations /docs/guide/#versioning /docs/changelog/: Migration guide
"""
"""Headings and names in the documents of GitHub, Shopify, Stripe and Swagger's Petstore → the addresses that are right for them."""


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


@pytest.mark.parametrize(("lines", "late", "missing"), [(LEADS, 0.1, 0), (DRAWN, 0.1, 0.03)], ids=["own", "drawn"])
def test_the_right_page_is_first_for_most_queries(page: Page, lines: str, late: float, missing: float) -> None:
    page.goto("/docs/changelog/")
    search_for(page, "x")
    places = {}
    for text, addresses in right(lines).items():
        page.get_by_label("Search for").fill(text)
        found = page.evaluate(ADDRESSES)
        places[text] = next((at for at, address in enumerate(found) if address in addresses), None)
    nowhere = [text for text, at in places.items() if at is None]
    later = [text for text, at in places.items() if at != 0]
    assert len(nowhere) <= missing * len(places), nowhere
    assert len(later) <= late * len(places), later

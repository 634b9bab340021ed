"""What schemathesis knows about the store that it tests, in the same process and over HTTP alike.

No check is switched off. What the description cannot say (which ids exist, what a cursor looks like, which characters
are visible in a name, which `Idempotency-Key` was used before) the generator knows, so that data that fits the description must be accepted.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from schemathesis import Case, CheckContext, CheckFunction, Config, HookContext, Response
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.schemas import BaseSchema

from tests.properties.reading import is_name

STATUSES = ("available", "pending", "sold")
PATH_IDS = {"/pets/{petId}": ("petId", "pets"), "/categories/{categoryId}": ("categoryId", "categories")}


AnyCase = Case[Any]


class Page(NamedTuple):
    """One page of a list, as a client sees it."""

    ids: list[int]
    next: str | None


@dataclass
class Store:
    """The ids that exist, and for each list (path and `status`) a cursor that it gave out."""

    ids: dict[str, list[int]] = field(default_factory=dict)
    cursors: dict[tuple[str, str | None], str] = field(default_factory=dict)


def ask(get: Callable[[str], Page]) -> Store:
    """Learn from the service itself what there is; `get` fetches a path below the base address."""
    store = Store()
    for name in ("pets", "categories"):
        store.ids[name] = get(f"/{name}?limit=100").ids
        assert store.ids[name], f"the store has no {name}: load some first"
        for status in (None, *STATUSES) if name == "pets" else (None,):
            link = get(f"/{name}?limit=1" + (f"&status={status}" if status else "")).next
            assert link, f"the store has too few {name}: load two of each status first"
            store.cursors[f"/{name}", status] = _cursor(link)
    store.cursors["/changes", None] = _cursor(get("/changes").next or "")
    return store


def _cursor(link: str) -> str:
    return parse_qs(urlsplit(link).query)["cursor"][0]


def configuration(*, base_url: str, key: str, **more: Any) -> Config:
    """Return the settings of a run: the key on every request, and the responses to valid and invalid data.

    Stricter than schemathesis by itself, which also lets 401, 404, 409 and 5xx pass for right data.
    """
    accepted = {"expected-statuses": ["200", "201", "304"]}
    rejected = {"expected-statuses": ["400", "401", "404", "405", "415"]}
    return Config.from_dict(
        {
            "base-url": base_url,
            "auth": {"openapi": {"bearerAuth": {"bearer": key}}},
            "checks": {"positive_data_acceptance": accepted, "negative_data_rejection": rejected},
            "phases": {"examples": {"enabled": False}},  # they come from example responses, whose ids no store has
            **more,
        }
    )


def teach(schema: BaseSchema, store: Store) -> None:
    """Let the schema's generator draw only what this store has, wherever it means to draw right data."""

    def map_case(_context: HookContext, case: AnyCase) -> AnyCase:
        fit(case, store)
        return case

    def after_call(_context: HookContext, case: AnyCase, response: Response) -> None:
        if response.status_code == 201:
            store.ids["pets"].append(response.json()["id"])

    schema.hook(map_case)
    schema.hook(after_call)


def fit(case: AnyCase, store: Store) -> None:
    """Put into the parts of a case that fit the description what only this store knows."""
    if case.path in PATH_IDS and _is_right(case, ParameterLocation.PATH):
        name, kind = PATH_IDS[case.path]
        case.path_parameters[name] = int(_existing(case.path_parameters[name], store.ids[kind]))
    if "cursor" in case.query and _is_right(case, ParameterLocation.QUERY):
        case.query.pop("categoryId", None)  # a cursor belongs to its filters, and the store knows one for each status
        case.query["cursor"] = store.cursors[case.path, case.query.get("status")]
    for name, value in case.query.items():
        if isinstance(value, float) and value.is_integer():  # the description says in words that it is digits only
            case.query[name] = int(value)
    if isinstance(case.body, dict) and _is_right(case, ParameterLocation.BODY):
        body: dict[str, Any] = case.body
        body["categoryId"] = _existing(body["categoryId"], store.ids["categories"])
        body["name"] = body["name"] if is_name(body["name"]) else "Maple"
    if re.fullmatch(r"[!-~]{1,255}", str(case.headers.get("Idempotency-Key", ""))):
        case.headers["Idempotency-Key"] = _unique(case.headers["Idempotency-Key"], case)


def _is_right(case: AnyCase, location: ParameterLocation) -> bool:
    return case.meta is not None and location in case.meta.components and not case.meta.is_negative_at(location)


def _existing(number: int, ids: list[int]) -> int:
    return number if number in ids else ids[int(number) % len(ids)]


def _unique(key: str, case: AnyCase) -> str:
    """A key is used for one body only, which no schema can say."""
    if case.meta and case.meta.phase.name == TestPhase.STATEFUL:
        return f"{uuid4().hex}-{key}"[:255]  # a link may change the body after this
    written = json.dumps(case.body, sort_keys=True, default=lambda absent: type(absent).__name__)
    return f"{sha256(written.encode()).hexdigest()[:16]}-{key}"[:255]


# --- What schemathesis does not check by itself ----------------------------------------------------------------------

OF_EVERY_ANSWER = {
    "allow", "connection", "content-length", "content-security-policy", "content-type", "cross-origin-opener-policy",
    "date", "referrer-policy", "server", "vary", "x-content-type-options", "x-frame-options",
}  # fmt: skip
"""Headers of HTTP and of browsers, which say nothing about the store."""


def headers_are_the_described_ones(_context: CheckContext, response: Response, case: AnyCase) -> bool | None:
    """No header without a description, none missing of those that a response always has."""
    if (answer := _described_answer(case, response)) is not None:
        described = {name.lower() for name in answer["headers"]}
        kept = case.operation.schema.raw_schema["components"]["headers"]
        always = {
            name.lower()
            for name, header in answer["headers"].items()
            if kept[header["$ref"].rpartition("/")[2]].get("required")
        }
        sent = set(response.headers)
        assert sent <= described | OF_EVERY_ANSWER, f"not described: {sorted(sent - described - OF_EVERY_ANSWER)}"
        assert always <= sent, f"missing: {sorted(always - sent)}"
    return None


def errors_are_the_described_ones(_context: CheckContext, response: Response, case: AnyCase) -> bool | None:
    """An Error has its three fields, its `status` is the response's, and its `code` is described for it."""
    if response.status_code >= 400:
        assert response.headers["content-type"] == ["application/json"]
        error = response.json()
        assert list(error) == ["code", "message", "status"]
        assert error["status"] == response.status_code
        answer = _described_answer(case, response)
        codes = answer["content"]["application/json"]["examples"] if answer else [error["code"]]
        assert error["code"] in codes, f"{error['code']} is not described for this response"
    return None


def _described_answer(case: AnyCase, response: Response) -> Mapping[str, Any] | None:
    if case.method.upper() != case.operation.method.upper():
        return None  # a method that the description does not have
    answers: Mapping[str, Any] = case.operation.definition.raw["responses"]
    answer: Mapping[str, Any] | None = answers.get(str(response.status_code))
    return answer


CHECKS: list[CheckFunction] = [headers_are_the_described_ones, errors_are_the_described_ones]

"""Says which changes of an OpenAPI 3.1 description break a client that was written for the older one.

One idea: what a caller may send can only grow, what comes back can only shrink. The exception is `Error.code`,
to which codes may be added: clients must expect it. (The well-kept tool for this, oasdiff, is a Go
program and no package that `make test` could install.)
"""

import math
from collections.abc import Iterator
from typing import Any, Literal

Node = dict[str, Any]
Side = Literal["sent", "returned"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
RESTRICTIONS = ("pattern", "multipleOf", "uniqueItems", "propertyNames")
SAME = ("format", "default")
JUDGED_AS_ONE = ("oneOf", "anyOf", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentRequired")
OPEN_ENUMS = frozenset({"Error.code"})


def breaks(old: Node, new: Node) -> list[str]:
    """Return one line for each breaking change, none if every client of `old` can live with `new`."""
    found = [line for path in old["paths"] for line in _path(path, Documents(old, new))]
    return list(dict.fromkeys(found))


class Documents:
    """Both descriptions, for following their `$ref`s."""

    def __init__(self, old: Node, new: Node) -> None:
        self.old, self.new = old, new

    def follow(self, old: Node, new: Node) -> tuple[Node, Node]:
        """Return both nodes without `$ref` and `allOf`."""
        return _plain(old, self.old), _plain(new, self.new)


def _plain(node: Node, document: Node) -> Node:
    """Return a node with what it refers to, and all of what it combines, in it."""
    parts = [_plain(_target(node["$ref"], document), document)] if "$ref" in node else []
    parts += [_plain(part, document) for part in node.get("allOf", [])]
    parts.append({name: value for name, value in node.items() if name not in {"$ref", "allOf"}})
    merged: Node = {}
    for part in parts:
        merged |= part | {
            "required": _both(merged.get("required"), part.get("required")),
            "properties": merged.get("properties", {}) | part.get("properties", {}),
        }
    return merged


def _both(first: Any, second: Any) -> Any:
    """Return what two schemas require together; a parameter's or a header's `required` is one word."""
    lists = isinstance(first, list) and isinstance(second, list)
    return [*first, *second] if lists else first if second is None else second


def _target(reference: str, document: Node) -> Node:
    found: Any = document
    for name in reference.removeprefix("#/").split("/"):
        found = found[name.replace("~1", "/").replace("~0", "~")]
    assert isinstance(found, dict)
    return found


# --- Operations ------------------------------------------------------------------------------------------------------


def _path(path: str, both: Documents) -> Iterator[str]:
    old, new = both.old["paths"][path], both.new["paths"].get(path, {})
    for method in METHODS:
        if method in old:
            name = f"{method.upper()} {path}"
            if method in new:
                yield from _operation(name, _with_parameters(old, method), _with_parameters(new, method), both)
            else:
                yield f"{name}: was removed"


def _with_parameters(path: Node, method: str) -> Node:
    """Return an operation with the parameters of its path before its own."""
    operation: Node = path[method]
    return operation | {"parameters": [*path.get("parameters", []), *operation.get("parameters", [])]}


def _operation(name: str, old: Node, new: Node, both: Documents) -> Iterator[str]:
    if old.get("operationId") != new.get("operationId"):
        yield f"{name}: operationId changed"
    if _security(old, both.old) != _security(new, both.new):
        yield f"{name}: security changed"
    yield from _parameters(name, old, new, both)
    yield from _request_body(name, old, new, both)
    yield from _responses(name, old, new, both)


def _security(operation: Node, document: Node) -> list[Node]:
    """Return the ways in that an operation offers, each scheme spelled out."""
    schemes = document.get("components", {}).get("securitySchemes", {})
    ways: Any = operation.get("security", document.get("security", []))
    return [{name: (scopes, _told(schemes.get(name, {}))) for name, scopes in way.items()} for way in ways]


def _told(scheme: Node) -> Node:
    return {name: value for name, value in scheme.items() if name != "description"}


def _parameters(name: str, old: Node, new: Node, both: Documents) -> Iterator[str]:
    before, after = _by_name(old, both.old), _by_name(new, both.new)
    for key in before.keys() - after.keys():
        yield f"{name}: parameter {key[1]} was removed"
    for key, parameter in after.items():
        required_before = key in before and before[key].get("required", False)
        if parameter.get("required", False) and not required_before:
            yield f"{name}: parameter {key[1]} is now required"
        if key in before:
            yield from _schema(
                f"{name}: parameter {key[1]}", before[key].get("schema", {}), parameter.get("schema", {}), "sent", both
            )


def _by_name(operation: Node, document: Node) -> dict[tuple[str, str], Node]:
    parameters = [_plain(parameter, document) for parameter in operation["parameters"]]
    return {(one["in"], one["name"].lower() if one["in"] == "header" else one["name"]): one for one in parameters}


def _request_body(name: str, old: Node, new: Node, both: Documents) -> Iterator[str]:
    before, after = both.follow(old.get("requestBody", {}), new.get("requestBody", {}))
    if after.get("required", False) and not before.get("required", False):
        yield f"{name}: a request body is now required"
    yield from _content(f"{name}: request", before, after, "sent", both)


def _responses(name: str, old: Node, new: Node, both: Documents) -> Iterator[str]:
    for status, response in old["responses"].items():
        at = f"{name}: {status}"
        if status not in new["responses"]:
            yield f"{at}: was removed"
            continue
        before, after = both.follow(response, new["responses"][status])
        yield from _headers(at, before.get("headers", {}), after.get("headers", {}), both)
        yield from _content(at, before, after, "returned", both)


def _headers(at: str, old: Node, new: Node, both: Documents) -> Iterator[str]:
    after_by_name = {name.lower(): header for name, header in new.items()}
    for name, header in old.items():
        if name.lower() not in after_by_name:
            yield f"{at}: header {name} was removed"
            continue
        before, after = both.follow(header, after_by_name[name.lower()])
        if before.get("required", False) and not after.get("required", False):
            yield f"{at}: header {name} is no longer always sent"
        yield from _schema(f"{at}: header {name}", before.get("schema", {}), after.get("schema", {}), "returned", both)


def _content(at: str, old: Node, new: Node, side: Side, both: Documents) -> Iterator[str]:
    for media_type, before in old.get("content", {}).items():
        after = new.get("content", {}).get(media_type)
        if after is None:
            yield f"{at}: {media_type} was removed"
        else:
            yield from _schema(at, before.get("schema", {}), after.get("schema", {}), side, both)


# --- Schemas ---------------------------------------------------------------------------------------------------------


def _schema(at: str, old: Node, new: Node, side: Side, both: Documents) -> Iterator[str]:
    """Compare what may be sent, or what comes back, at one place."""
    at = f"{at} {old['$ref'].rpartition('/')[2]}" if "$ref" in old else at
    before, after = both.follow(old, new)
    wider, narrower = (after, before) if side == "sent" else (before, after)
    if not _has_types(wider, narrower):
        yield f"{at}: type changed"
    if not _has_values(wider, narrower) and not (side == "returned" and at.rpartition(" ")[2] in OPEN_ENUMS):
        yield f"{at}: allowed values changed"
    yield from (f"{at}: {key} changed" for key in _limits(wider, narrower))
    yield from (f"{at}: {key} changed" for key in SAME if before.get(key) != after.get(key))
    yield from (f"{at}: {key} changed" for key in JUDGED_AS_ONE if before.get(key) != after.get(key))
    yield from _members(at, before, after, side, both)
    if "items" in before and "items" in after:
        yield from _schema(f"{at}[]", before["items"], after["items"], side, both)


def _has_types(wider: Node, narrower: Node) -> bool:
    if "type" not in wider:
        return True
    allowed = _as_set(wider["type"]) | ({"integer"} if "number" in _as_set(wider["type"]) else set())
    return "type" in narrower and _as_set(narrower["type"]) <= allowed


def _as_set(types: str | list[str]) -> set[str]:
    return {types} if isinstance(types, str) else set(types)


def _has_values(wider: Node, narrower: Node) -> bool:
    allowed, values = _values(wider), _values(narrower)
    return allowed is None or (values is not None and all(value in allowed for value in values))


def _values(schema: Node) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _limits(wider: Node, narrower: Node) -> Iterator[str]:
    """Yield the keywords by which the schema that must be the wider one rejects what the other allows."""
    yield from (key for key in LOWER if wider.get(key, -math.inf) > narrower.get(key, -math.inf))
    yield from (key for key in UPPER if wider.get(key, math.inf) < narrower.get(key, math.inf))
    yield from (key for key in RESTRICTIONS if key in wider and wider[key] != narrower.get(key))
    if wider.get("additionalProperties") is False and narrower.get("additionalProperties") is not False:
        yield "additionalProperties"


def _members(at: str, old: Node, new: Node, side: Side, both: Documents) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    yield from (f"{at}.{name}: was removed" for name in before if name not in after)
    required_before, required_after = set(old.get("required") or []), set(new.get("required") or [])
    if side == "sent":
        yield from (f"{at}.{name}: is now required" for name in sorted(required_after - required_before))
    else:
        yield from (f"{at}.{name}: is no longer required" for name in sorted(required_before - required_after))
    for name in before:
        if name in after:
            yield from _schema(f"{at}.{name}", before[name], after[name], side, both)

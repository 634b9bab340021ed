"""A page for each error: what `rest.errors` says about the code, and its section of docs/errors.md."""

import json
from typing import Any

from django.conf import settings

from petstore_site.portal import documents, reference
from petstore_site.portal.code import Example, block
from rest.errors import ErrorCode

FILE = settings.BASE_DIR / "docs" / "errors.md"


def context(code: ErrorCode) -> dict[str, Any]:
    """Return what the template of an error shows."""
    text = FILE.read_text(encoding="utf-8")
    section = next(found for _, found in documents.sections(text, 2) if found.id == code.value)
    return {
        "code": code,
        "cure": documents.inline(code.cure),
        "codes": list(ErrorCode),
        "section": section,
        "example": _example(code),
        "operations": [operation for operation in reference.operations() if code.value in operation["codes"]],
    }


def _example(code: ErrorCode) -> Example:
    status = f"{code.status.value} {code.status.phrase}"
    body = json.dumps({"code": code.value, "message": code.meaning, "status": code.status.value}, indent=2)
    text = f"HTTP/1.1 {status}\nContent-Type: application/json\nLink: {code.help_link}\n\n{body}"
    return block(status, text, "http")

"""Make a viewset's `create` safe to retry with an `Idempotency-Key` header."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from django.db import OperationalError, transaction
from rest_framework.exceptions import ValidationError
from rest_framework.mixins import CreateModelMixin
from rest_framework.request import Request
from rest_framework.response import Response

from idempotency.models import IdempotentRequest
from rest.database_errors import LOCK_NOT_AVAILABLE, sqlstate
from rest.errors import APIError, ErrorCode
from rest.media_type import render_json

IDEMPOTENCY_ERRORS = [ErrorCode.IDEMPOTENCY_IN_PROGRESS, ErrorCode.IDEMPOTENCY_KEY_REUSED]

RETRY_AFTER = 1
"""Seconds to wait while the first request with the key is still running."""


class IdempotentCreateMixin(CreateModelMixin):
    """Add idempotency to a viewset's `create`. The key and the new object are saved in one transaction.

    The same key and body return the first response with `Idempotency-Replayed: true`. Another body
    is 422, a first request that is still running 409. An error raises and so saves nothing.
    """

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create once per key. Without the header, create as usual."""
        sent: Any = request.data  # first: a body that cannot be read is rejected before a malformed header
        key = _idempotency_key(request)
        if key is None:
            return super().create(request, *args, **kwargs)
        view: Any = self  # the viewset has the serializer
        fingerprint = _fingerprint(request.path, _meaning(view.get_serializer().fields, sent))
        with transaction.atomic():
            earlier, is_new = _claim(request.auth.pk, key, fingerprint)
            if not is_new:
                return _replay(earlier, fingerprint)
            response = super().create(request, *args, **kwargs)
            earlier.keep(
                status=response.status_code,
                body=render_json(response.data).decode(),
                location=response.get("Location", ""),
            )
            return response


def _claim(api_key_id: int, key: str, fingerprint: str) -> tuple[IdempotentRequest, bool]:
    try:
        return IdempotentRequest.objects.claim(api_key_id=api_key_id, key=key, fingerprint=fingerprint)
    except OperationalError as error:
        if sqlstate(error) == LOCK_NOT_AVAILABLE:
            raise APIError(ErrorCode.IDEMPOTENCY_IN_PROGRESS, wait=RETRY_AFTER) from None
        raise


def _idempotency_key(request: Request) -> str | None:
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return None
    match = re.fullmatch(r'"([\x21\x23-\x7e]{1,255})"|(?!""\Z)([\x21-\x7e]{1,255})', header.strip(" \t"))
    if match is None:
        message = "Idempotency-Key must be sent once and have 1 to 255 visible ASCII characters."
        raise APIError(ErrorCode.BAD_REQUEST, message)
    return match[1] or match[2]


def _meaning(fields: Mapping[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """Return the fields as parsed, however they were written, and an invalid one as it was sent."""
    meaning = {}
    for name, field in fields.items():
        value = field.get_value(sent)
        try:
            meaning[name] = field.run_validation(value)
        except ValidationError:
            meaning[name] = value
    return meaning


def _fingerprint(path: str, meaning: dict[str, Any]) -> str:
    written = json.dumps(meaning, sort_keys=True, default=repr)
    return sha256(f"{path}\n{written}".encode()).hexdigest()


def _replay(earlier: IdempotentRequest, fingerprint: str) -> Response:
    if earlier.fingerprint != fingerprint:
        raise APIError(ErrorCode.IDEMPOTENCY_KEY_REUSED)
    headers = {"Location": earlier.location, "Idempotency-Replayed": "true"}
    return Response(json.loads(earlier.body), status=earlier.status, headers=headers)

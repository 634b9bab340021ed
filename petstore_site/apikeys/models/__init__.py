"""API keys, their life from issue to revocation, and how much each was used."""

from petstore_site.apikeys.models.api_keys import (
    MOST_READS_RECORDED,
    RECORDED,
    SOON,
    APIKey,
    APIKeyQuerySet,
    KeyState,
    RotationError,
    Scope,
    in_days,
    validate_expiry,
    validate_line,
    validate_rate_limit,
)
from petstore_site.apikeys.models.usage import KeyUsage, Use

__all__ = [
    "MOST_READS_RECORDED",
    "RECORDED",
    "SOON",
    "APIKey",
    "APIKeyQuerySet",
    "KeyState",
    "KeyUsage",
    "RotationError",
    "Scope",
    "Use",
    "in_days",
    "validate_expiry",
    "validate_line",
    "validate_rate_limit",
]

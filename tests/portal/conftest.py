"""The pages of the portal as they are sent."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

Read = Callable[[str], str]


@pytest.fixture
def read(client: Client) -> Read:
    def read(address: str) -> str:
        answer = client.get(address)
        assert answer.status_code == 200, address
        return answer.content.decode()

    return read


@pytest.fixture
def description(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def text_of(markup: str) -> str:
    """Return what a reader sees."""
    return html.unescape(re.sub(r"<[^>]+>", "", markup))

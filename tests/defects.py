"""A bug, as far as a request is concerned: what no one expects is raised where the database is asked for animals."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def defect(message: str = "") -> Iterator[None]:
    """Raise `RuntimeError` instead of every statement of the block that is about animals."""

    def wrapper(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        if '"pets_pet"' in statement:
            raise RuntimeError(message)
        return execute(statement, *rest)

    with connection.execute_wrapper(wrapper):
        yield

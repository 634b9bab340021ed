"""Keyset paging, newest first, with RFC 8288 links (docs/decisions/0002)."""

import re
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.db import connections
from django.db.models import BooleanField, Func, Model, QuerySet, Subquery, Value
from django.db.models.functions import Least
from django.db.models.lookups import LessThanOrEqual
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from rest.errors import APIError, ErrorCode
from rest.ids import INT64_MAX
from rest.parameters import Filters, Query, filter_parameters, filter_readers

if TYPE_CHECKING:
    from rest_framework.views import APIView  # it imports the classes that the settings name, this file's too

DEFAULT_LIMIT = 20
MOST = 100


class Row(Func):
    """SQL's row value `(a, b)`, which compares as an index on `(a, b)` is sorted."""

    function = ""
    output_field = BooleanField()


def newest_from(queryset: QuerySet[Any], newest: Value | Least, filters: dict[str, str]) -> QuerySet[Any]:
    """Return the rows with these field values and an id of at most `newest`, newest first.

    On PostgreSQL the fields are compared as ranges and lead the order: it forgets an equality in
    ORDER BY, and then walks the primary key past every row with another value, which the planner
    takes for cheap (docs/decisions/0002). SQLite plans the plain form right, and only that.
    """
    if connections[queryset.db].vendor != "postgresql":
        return queryset.filter(**filters, pk__lte=newest).order_by("-pk")
    floor = {f"{name}__gte": value for name, value in filters.items()}
    ceiling = LessThanOrEqual(Row(*filters, "pk"), Row(*map(Value, filters.values()), newest))
    return queryset.filter(ceiling, **floor).order_by(*(f"-{name}" for name in filters), "-pk")


class KeysetPagination(BasePagination):
    """A page of a list, newest first. A view with filters declares a subclass beside it.

    By keyset on the id: no OFFSET, no COUNT, one row more than `limit` shows whether
    there is more. The cursor is the last row's id, signed for its list and filters.
    """

    filters: ClassVar[Filters] = {}
    """Query parameter, which is also the field → the values it can have."""

    being_written: ClassVar[QuerySet[Any] | None] = None
    """Rows with `first_id` and `last_id`: a range of ids that a long transaction is writing."""

    def paginate_queryset(  # type: ignore[override]  # a list of anything else has no keys to page by
        self,
        queryset: QuerySet[Any],
        request: Request,
        view: "APIView | None" = None,  # noqa: ARG002 - DRF names it
    ) -> list[Any] | None:
        """Return the page's rows; raises one `APIError` that names every wrong filter, `limit` and `cursor`."""
        self.request = request
        query = Query(request, {"limit": _limit, **filter_readers(self.filters), "cursor": str})
        self.chosen = {name: value for name, value in query.values.items() if name in self.filters}
        newest = self._newest(query)
        query.check()
        limit = query.values.get("limit", DEFAULT_LIMIT)
        rows = self._rows(queryset, newest, limit + 1)
        self.page, self.has_more = rows[:limit], len(rows) > limit
        return self.page

    def get_paginated_response(self, data: Any) -> Response:
        """Return the bare array, with the link to the next page if there is one."""
        headers = {"Link": f'<{self._next_url()}>; rel="next"'} if self.has_more else None
        return Response(data, headers=headers)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a page for the API description."""
        return schema | {"maxItems": MOST}

    def get_schema_operation_parameters(self, _view: "APIView") -> list[dict[str, Any]]:
        """Return the parameters for the API description."""
        return [
            *filter_parameters(self.filters),
            {
                "name": "limit",
                "in": "query",
                "required": False,
                "description": "The maximum number of items in the response.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT},
            },
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "description": "Where the page starts. Opaque: copy it from the previous page's `next` link. "
                "Use it unchanged.",
                "schema": {"type": "string"},
            },
        ]

    def _rows(self, queryset: QuerySet[Any], newest: int, count: int) -> list[Any]:
        """Return the first rows of the page, skipping those that a long transaction is writing.

        On PostgreSQL a list would have to visit each of them to learn that it is not committed. The statement reads
        their range with the rows, so that they appear as soon as they are committed. Rows added meanwhile have
        higher IDs.
        """
        being_written = self.being_written
        if being_written is None or connections[queryset.db].vendor != "postgresql":
            return list(newest_from(queryset, Value(newest), self.chosen)[:count])
        before = Least(Value(newest), Subquery(being_written.values("first_id")[:1]) - 1)
        last_id = Subquery(being_written.values("last_id")[:1])
        rows = list(newest_from(queryset.annotate(last_hidden=last_id), before, self.chosen)[:count])
        last_hidden = rows[0].last_hidden if rows else being_written.values_list("last_id", flat=True).first()
        if last_hidden is None or last_hidden >= newest:
            return rows
        after = queryset.filter(**self.chosen, pk__gt=last_hidden, pk__lte=newest).order_by("-pk")
        return [*after[:count], *rows][:count]

    def _next_url(self) -> str:
        last: Model = self.page[-1]
        given = {name: self.request.query_params[name] for name in ("limit",) if name in self.request.query_params}
        query = urlencode(given | self.chosen | {"cursor": self._signer().sign_object(last.pk)})
        return f"{self.request.build_absolute_uri(self.request.path)}?{query}"

    def _newest(self, query: Query) -> int:
        """Return the highest id of the page. A cursor belongs to its filters: a wrong filter leaves it unchecked."""
        if "cursor" not in query.values or self.filters.keys() & query.errors.keys():
            return INT64_MAX
        try:
            last: int = self._signer().unsign_object(query.values["cursor"])
        except BadSignature:
            if not query.errors:
                raise APIError(ErrorCode.INVALID_CURSOR) from None
            query.errors["cursor"] = "cursor is damaged or belongs to another list."
            return INT64_MAX
        return last - 1

    def _signer(self) -> Signer:
        return Signer(sep=".", salt=f"{self.request.path}?{urlencode(self.chosen)}")


def _limit(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]*", text) or len(text) > len(str(MOST)) or int(text) > MOST:
        message = f"must be a whole number from 1 to {MOST}."
        raise ValueError(message)
    return int(text)

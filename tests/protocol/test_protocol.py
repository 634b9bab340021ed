"""Bytes to the server and to nginx before it: both count the same requests, and every error is an Error."""

import json
import re
import select
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from petstore_site.serving.door import PART_SECONDS
from rest.errors import CODES, error_body
from tests.conftest import error
from tests.protocol.corpus import CASES, LEGAL, REJECTED, written
from tests.protocol.nginx import FILES, Nginx, running_nginx
from tests.protocol.wire import Answer, answer_on, connected, exchange, read_answer, request
from tests.server import Gunicorn, free_port, head_of_post, until

BAD_REQUEST = error("bad_request", "The request is malformed.", 400)
LONG_LINE = error("bad_request", "The request line (method and URL) must have at most 4,094 bytes.", 400)
LONG_HEADER = error("bad_request", "The request must have at most 50 headers, each of at most 8,000 bytes.", 400)
TOO_LARGE = error("body_too_large", "The request body is larger than 65,536 bytes.", 413)
UNAVAILABLE = error("unavailable", "The service is temporarily unavailable.", 503)
NO_ROUTE = error("route_not_found", "This path does not exist.", 404)

HIDDEN_BODY = b"GET /livez\r\n\r\n"

numbers = count()


def word() -> str:
    """Return what marks the requests of one test in both logs."""
    return f"w{next(numbers)}w"


def assert_readable(answers: list[Answer]) -> None:
    """Every error is an Error, from nginx, the server or Django."""
    for answer in answers:
        if answer.status >= 400:
            answer.error()


class TestFiles:
    def test_errors_are_those_of_the_service(self) -> None:
        lines = re.findall(r"return (\d+) '({.*)';", (FILES / "errors.conf").read_text())
        bodies = [json.loads(text) for _, text in lines]
        of_codes = [error_body(CODES[body["code"]]) for body in bodies if body not in (LONG_LINE, LONG_HEADER)]
        assert len(lines) == len(of_codes) + 2 == 9
        assert [list(body.items()) for body in bodies if body not in (LONG_LINE, LONG_HEADER)] == [
            list(body.items()) for body in of_codes
        ]
        assert [int(status) for status, _ in lines] == [body["status"] for body in bodies]

    def test_errors_link_to_their_pages(self) -> None:
        places = re.findall(
            r"^location = /\.petstore/(\w+) {(.*?)^}", (FILES / "errors.conf").read_text(), re.MULTILINE | re.DOTALL
        )
        assert len(places) == 10
        for place, text in [place for place in places if "text/html" not in place[1]]:
            code = "bad_request" if place.endswith("_too_long") else place
            link = CODES[code].help_link.replace("<", "<$petstore_base_path")
            assert f"add_header   Link          '{link}' always;" in text

    def test_what_passes_is_examined(self) -> None:
        passed = set(re.findall(r"proxy_set_header \S+ +(\$http_\w+);", (FILES / "service.conf").read_text()))
        field_map = (
            (FILES / "context.conf").read_text().partition('map "$http_')[2].partition("$petstore_rejects_fields")[0]
        )
        assert len(passed) > 15
        assert passed | {"$http_host"} == set(re.findall(r"\$http_\w+", "$http_" + field_map))

    def test_what_browsers_may_send_passes(self) -> None:
        passed = {name.lower() for name in re.findall(r"proxy_set_header (\S+)", (FILES / "service.conf").read_text())}
        assert set(settings.CORS_ALLOW_HEADERS) <= passed


class TestDivision:
    @pytest.mark.parametrize("name", CASES)
    def test_no_hidden_request(self, server: Gunicorn, layer: str, port: int, name: str, request: Any) -> None:
        mark = word()
        answers = exchange(port, written(*CASES[name], mark))
        served = [answer for answer in answers if answer.is_the_services and answer.headers["X-Request-ID"] == mark]
        until(lambda: paths(server, mark).total() >= len(served))
        assert_readable(answers)
        assert paths(server, mark) == Counter({f"/v1/outer-{mark}": len(served)} if served else {})
        assert len(answers) <= 1
        assert len(served) in ({1} if name in LEGAL else {0} if name in REJECTED else {0, 1})
        if layer == "nginx":
            nginx = request.getfixturevalue("nginx")
            until(lambda: nginx.forwarded(mark) >= len(served))
            assert nginx.forwarded(mark) == len(served)
        assert_unpoisoned(port)


def paths(server: Gunicorn, mark: str) -> Counter[str]:
    """Return the paths with this mark that the service received, and how often."""
    lines = (json.loads(line) for line in server.log.read_text().splitlines() if mark in line and '"path"' in line)
    return Counter(line["path"] for line in lines)


def assert_unpoisoned(port: int) -> None:
    """The next client gets the response to its own request."""
    for _ in range(2):
        mark = word()
        answers = exchange(port, request(f"/v1/after-{mark}", f"X-Request-ID: {mark}"))
        assert [(answer.status, answer.headers["X-Request-ID"]) for answer in answers] == [(401, mark)]


def big(size: int) -> str:
    return "a" * size


REJECTIONS: dict[str, bytes] = {
    "lower-case method": request("/livez", method="get"),
    "method of 30": request("/livez", method="A" * 30),
    "method of 2": request("/livez", method="AB"),
    "OPTIONS *": request("*", method="OPTIONS"),
    "method with #": request("/livez", method="GE#T"),
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no version, two words": b"GET /livez FTP/1.1\r\n\r\n",
    "HTTP/2.0": request("/livez", version="HTTP/2.0"),
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "authority-form": request("127.0.0.1:80"),
    "asterisk-form": request("*"),
    "space in the address": request("/v1/a b"),
    "DEL in the address": request("/v1/a\x7fb"),
    "control character": request("/livez", "User-Agent: a\x01b"),
    "DEL in a field": request("/livez", "Idempotency-Key: a\x7fb"),
    "NUL in a field": request("/livez", "X-A: a\x00b"),
    "two Hosts": request("/livez", "Host: 127.0.0.1"),
    "Content-Length of 5000 digits": request("/livez", f"Content-Length: {'9' * 5000}", method="POST"),
    "no Host": b"GET /livez HTTP/1.1\r\n\r\n",
    "bytes in the address": b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}  # fmt: skip
"""What the server and nginx reject by themselves."""

TOO_LONG: dict[str, tuple[bytes, dict[str, Any]]] = {
    "request line of 4095": (request("/" + big(4095 - 14)), LONG_LINE),
    "request line of 5000": (request("/" + big(5000)), LONG_LINE),
    "request line of 40000": (request("/" + big(40_000)), LONG_LINE),
    "field of 9000": (request("/livez", f"Cookie: {big(9000)}"), LONG_HEADER),
    "field of 20000": (request("/livez", f"X-A: {big(20_000)}"), LONG_HEADER),
    "51 fields": (request("/livez", *(f"X-{number}: a" for number in range(50)), method="POST"), LONG_HEADER),
}
"""What has its limit in the message."""

UNLIKE: dict[str, tuple[bytes, int | set[int], int | set[int]]] = {
    "50 more fields": (request("/v1/pets", *(f"X-{number}: a" for number in range(60))), 400, 401),
    "50 fields": (request("/v1/pets", *(f"X-{number}: a" for number in range(49))), 401, 401),
    "two Content-Types": (request("/v1/pets", "Content-Type: a/b", "Content-Type: a/b"), {400, 401}, 401),
    "foreign Expect": (request("/v1/pets", "Expect: x"), 401, 401),
    "two keys": (request("/v1/pets", "Authorization: Bearer a", "Authorization: Bearer b"), 401, 400),
    "two If-None-Match": (request("/v1/pets", 'If-None-Match: "a"', 'If-None-Match: "b"'), 401, 400),
    "absolute-form of another host": (request("http://evil.example/v1/pets"), 400, 400),
    "absolute-form without a path": (request("HTTP://127.0.0.1?a"), 200, 200),
    "absolute-form of another host, HTTP/1.0": (b"GET http://evil.example/v1/pets HTTP/1.0\r\n\r\n", 400, 400),
    "Content-Length of 3500 digits": (request("/v1/pets", f"Content-Length: {'9' * 3500}", method="POST"), {400, 401}, 400),
    "Host with port 99999": (b"GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1:99999\r\n\r\n", 400, 400),
    "Host with port 65536": (b"GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1:65536\r\n\r\n", 400, 400),
    "Host with port 65535": (b"GET /v1/pets HTTP/1.1\r\nHost: 127.0.0.1:65535\r\n\r\n", 401, 401),
    "transfer coding x": (request("/v1/pets", "Transfer-Encoding: x"), 501, 501),
    "transfer coding gzip, chunked": (request("/v1/pets", "Transfer-Encoding: gzip, chunked"), 501, 501),
    "two lines of transfer codings": (
        request("/v1/pets", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked", method="POST"), 501, {400, 501}
    ),
    "NUL in the path": (request("/v1/%00"), 401, 404),
    "above the root": (request("/v1/../../livez"), 401, 400),
    "TRACE": (request("/v1/pets", method="TRACE"), 401, 405),
    "method of 20": (request("/v1/pets", method="A" * 20), 400, 400),
    "method that begins with POST": (request("/v1/pets", method="POSTS"), 400, 400),
    "absolute-form, other Host": (request("http://127.0.0.1/v1/pets"), 401, 401),
    "request line of 4094": (request("/v1/" + big(4094 - 17)), 401, 401),
    "field of 7900": (request("/v1/pets", f"Cookie: {big(7900)}"), 401, 401),
    "HTTP/1.999": (request("/v1/pets", version="HTTP/1.999"), 400, 401),
    "HTTP/1.9": (request("/v1/pets", version="HTTP/1.9"), 400, 401),
    "HTTP/1.0": (b"GET /v1/pets HTTP/1.0\r\n\r\n", 401, 401),
}  # fmt: skip
"""What the server and nginx see differently, or both let through to the service. A set: no promise says which."""


class TestRejections:
    @pytest.mark.parametrize("name", [*REJECTIONS, *TOO_LONG])
    def test_the_same_error_from_both(self, layer: str, port: int, name: str) -> None:
        sent, error = TOO_LONG[name] if name in TOO_LONG else (REJECTIONS[name], BAD_REQUEST)
        (answer,) = exchange(port, sent)
        assert (answer.status, answer.error()) == (400, error)
        if layer == "server" or error != LONG_HEADER:  # nginx may have read such a request to its end
            assert answer.headers["Connection"] == "close"
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers.get("Server") == ("nginx" if layer == "nginx" else None)
        assert_unpoisoned(port)

    def test_the_servers_own_errors_are_logged_with_their_request_id(self, server: Gunicorn) -> None:
        (answer,) = exchange(server.port, request("/v1/a b", f"Authorization: Bearer pets_test_{'0' * 46}"))
        name = answer.headers["X-Request-ID"]
        until(lambda: server.logged(name))
        (line,) = [line for line in server.lines() if line["request_id"] == name]
        assert line["level"] == "WARNING"
        _, _, reason = line["message"].partition("Rejected a request from 127.0.0.1: ")
        assert re.fullmatch(r"[A-Z]\w+: \S.*", reason), line
        assert "0" * 46 not in server.log.read_text()

    def test_a_wrong_first_request_is_not_followed_by_a_second(self, server: Gunicorn) -> None:
        answers = exchange(server.port, request("/livez", method="get") + request("/livez"))
        assert [answer.status for answer in answers] == [400]

    @pytest.mark.parametrize(
        "sent", [request("/livez", method="get"), request("/a b"), b"\x16\x03\x01\x02\x00\r\n\r\n"]
    )
    def test_a_wrong_second_request_is_rejected_after_the_response_to_the_first(self, port: int, sent: bytes) -> None:
        answers = exchange(port, request("/docs/") + sent)
        assert [answer.status for answer in answers] == [200, 400]
        assert answers[1].error() == BAD_REQUEST

    @pytest.mark.parametrize("name", UNLIKE)
    def test_seen_differently(self, layer: str, port: int, name: str) -> None:
        sent, directly, through_nginx = UNLIKE[name]
        wanted = directly if layer == "server" else through_nginx
        answer = exchange(port, sent)[0]
        assert answer.status in (wanted if isinstance(wanted, set) else {wanted})
        assert_readable([answer])

    @pytest.mark.parametrize(
        ("names", "code"),
        [
            *[([first, second], "bad_request") for first in ("one", "", '"one"') for second in ("two", "one", "")],
            (["one,two"], "validation_failed"),
        ],
        ids=str,
    )
    def test_two_idempotency_keys_are_none(self, server: Gunicorn, port: int, names: list[str], code: str) -> None:
        """WSGI hands them over as one, with a comma. nginx 1.22 sees only the first by its name, even an empty one."""
        fields = [f"Authorization: Bearer {server.issue_key()}", "Content-Type: application/json", "Content-Length: 2"]
        fields += [f"Idempotency-Key: {name}" for name in names]
        (answer,) = exchange(port, request("/v1/pets", *fields, method="POST") + b"{}")
        assert answer.error()["code"] == code

    def test_a_name_with_an_underscore_is_no_header_of_ours(self, port: int) -> None:
        """WSGI has one name for both."""
        (answer,) = exchange(port, request("/livez", "X_Request_ID: theirs", "Content_Length: 5"))
        assert (answer.status, answer.headers["X-Request-ID"] == "theirs") == (200, False)

    @pytest.mark.parametrize("end", [" ", "\t", " \t "])
    def test_blanks_around_a_value_are_none_of_it(self, server: Gunicorn, end: str) -> None:
        """RFC 9110, section 5.5."""
        fields = [f"Authorization:{end}Bearer {server.issue_key()}{end}", f"X-Request-ID: theirs{end}"]
        (answer,) = exchange(server.port, request("/v1/categories", *fields))
        assert (answer.status, answer.headers["X-Request-ID"]) == (200, "theirs")

    def test_a_key_behind_the_body_is_none(self, server: Gunicorn) -> None:
        fields = ["Content-Type: application/json", "Transfer-Encoding: chunked"]
        body = b"2\r\n{}\r\n0\r\nAuthorization: Bearer %b\r\n\r\n" % server.issue_key().encode()
        (answer,) = exchange(server.port, request("/v1/pets", *fields, method="POST") + body)
        assert answer.error()["code"] == "api_key_missing"

    @pytest.mark.parametrize("framing", ["Content-Length", "Transfer-Encoding"])
    def test_a_body_is_read_whatever_protocol_the_client_offers(self, server: Gunicorn, framing: str) -> None:
        """Java's client offers HTTP/2 with each of its first requests."""
        body = b'{"name": "Rex", "categoryId": 0}'
        offer = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAAA"]
        fields = [f"Authorization: Bearer {server.issue_key()}", "Content-Type: application/json", *offer]
        if framing == "Content-Length":
            sent = request("/v1/pets", *fields, f"Content-Length: {len(body)}", method="POST") + body
        else:
            chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            sent = request("/v1/pets", *fields, "Transfer-Encoding: chunked", method="POST") + chunk
        (answer,) = exchange(server.port, sent)
        assert answer.error()["message"].startswith("categoryId ")
        assert answer.headers["Connection"] == "close"
        (answer,) = exchange(server.port, request("/livez", *offer))
        assert (answer.status, answer.headers["Connection"]) == (200, "close")

    def test_a_header_that_never_ends_is_rejected(self, server: Gunicorn) -> None:
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/livez", "X-A: ").removesuffix(b"\r\n\r\n") + b"a" * 600_000)
            answer = answer_on(reader)
        assert answer.error() == LONG_HEADER

    @pytest.mark.parametrize("begun", [b"1;", b"2\r\n{}\r\n0\r\nX-A: "], ids=["extension", "trailer"])
    def test_a_body_with_something_endless_is_rejected(self, server: Gunicorn, begun: bytes) -> None:
        fields = [f"Authorization: Bearer {server.issue_key()}", "Content-Type: application/json"]
        head = request("/v1/pets", *fields, "Transfer-Encoding: chunked", method="POST")
        with connected(server.port) as (connection, reader):
            started = time.monotonic()
            connection.sendall(head + begun + b"a" * 600_000)
            answer = answer_on(reader)
        assert (answer.status, answer.headers["Connection"]) == (400, "close")
        assert time.monotonic() - started < PART_SECONDS, "before the deadline of a body"

    def test_the_body_of_a_read_is_not_waited_for(self, server: Gunicorn) -> None:
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/v1/pets", f"Authorization: Bearer {server.issue_key()}", "Content-Length: 9"))
            answer = answer_on(reader)
        assert (answer.status, answer.headers["Connection"]) == (200, None)

    def test_two_if_none_match(self, server: Gunicorn) -> None:
        """They are one list (RFC 9110, section 5.3)."""
        key = f"Authorization: Bearer {server.issue_key()}"
        (first,) = exchange(server.port, request("/v1/pets", key))
        lines = ['If-None-Match: "other"', f"If-None-Match: {first.headers['ETag']}"]
        (second,) = exchange(server.port, request("/v1/pets", key, *lines))
        assert (first.status, second.status, second.body) == (200, 304, b"")

    @pytest.mark.parametrize("path", ["/v1%2Fpets", "/v1%2fpets", "/v1%2Fpets/1", "/livez%2F"])
    def test_an_encoded_slash_separates_nothing(self, port: int, path: str) -> None:
        (answer,) = exchange(port, request(path))
        assert answer.error() == NO_ROUTE

    @pytest.mark.parametrize("wrong", [b"B", b"X", b"POSTPOST", b"P", b"GET", b"PURGE", b"\x00", b"-"])
    def test_a_method_is_never_taken_for_another_one(self, server: Gunicorn, wrong: bytes) -> None:
        """However its bytes arrive: a request is cut at each byte, and a pause before the rest makes it a read of its own."""
        body = b'{"name": "Rex", "categoryId": 1}'
        head = head_of_post(server.issue_key(), f"Content-Length: {len(body)}")
        sent = wrong + head + body
        codes = set()
        for at in range(1, len(wrong) + len("POST /v1/pets HTTP/1.1\r\n")):
            with connected(server.port) as (connection, reader):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with suppress(ConnectionError):
                    connection.sendall(sent[:at])
                    time.sleep(0.005)
                    connection.sendall(sent[at:])
                answer = answer_on(reader)
                codes.add(answer.error()["code"])
        assert codes <= {"bad_request", "method_not_allowed"}, (
            "a POST would be `validation_failed`: there is no category"
        )

    def test_a_request_is_the_same_however_its_bytes_arrive(self, server: Gunicorn) -> None:
        sent = request("/v1/pets", "Content-Length: 2", method="POST") + b"{}"
        for at in range(1, len(sent)):
            with connected(server.port) as (connection, reader):
                for part in (sent[:at], sent[at:] + request("/livez", "X-Request-ID: next")):
                    connection.sendall(part)
                    time.sleep(0.002)
                first, second = answer_on(reader), answer_on(reader)
            assert (first.error()["code"], second.status, second.headers["X-Request-ID"]) == (
                "api_key_missing", 200, "next",
            ), at  # fmt: skip

    def test_a_wrong_method_behind_a_head_is_no_head(self, server: Gunicorn) -> None:
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/livez", method="HEAD") + request("/livez", method="get"))
            _, _, second = reader.read().partition(b"\r\n\r\n")
        assert second.endswith(b'{"code":"bad_request","message":"The request is malformed.","status":400}')

    def test_a_long_body_that_is_not_read_hides_no_response(self, server: Gunicorn, port: int) -> None:
        """If a connection with bytes that no one read is closed at once, the client gets a reset."""
        body = b"x" * 9_000_000
        key = f"Authorization: Bearer {server.issue_key()}"
        fields = [key, "Content-Type: application/json", f"Content-Length: {len(body)}"]
        with connected(port) as (connection, reader):
            connection.sendall(request("/v1/pets", *fields, method="POST"))
            time.sleep(0.2)  # without nginx, the response is there now
            connection.sendall(body)
            answer = answer_on(reader)
        message = "The request body must have at most 65,536 bytes."
        assert answer.error() == error("body_too_large", message, 413)

    def test_a_body_that_comes_after_its_rejection_hides_no_response(self, server: Gunicorn) -> None:
        """Nobody reads it, and the connection ends without a reset."""
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/v1/pets", "Content-Length: 200000", method="POST"))
            time.sleep(0.2)
            for _ in range(2):
                connection.sendall(b"x" * 100_000)
                time.sleep(0.1)
            answer = answer_on(reader)
            assert (answer.error()["code"], answer.headers["Connection"]) == ("api_key_missing", "close")
            assert reader.read() == b""

    def test_http_0_9_gets_an_error_without_a_head(self, nginx: Nginx) -> None:
        with connected(nginx.plain) as (connection, reader):
            connection.sendall(b"GET /v1/pets\r\n")
            assert json.loads(reader.read())["code"] == "api_key_missing"

    def test_a_body_too_large_for_the_proxy(self, nginx: Nginx) -> None:
        with connected(nginx.plain) as (connection, reader):
            connection.sendall(request("/v1/pets", "Content-Length: 33554433", method="POST"))
            answer = answer_on(reader)
        assert answer.error() == TOO_LARGE

    def test_a_file_too_large_for_the_back_office_is_told_the_limit(self, nginx: Nginx) -> None:
        sent = request("/admin/pets/importrun/add/", "Content-Length: 33554433", method="POST")
        with connected(nginx.plain) as (connection, reader):
            connection.sendall(sent)
            answer = answer_on(reader)
        assert answer.status == 413
        assert b"Files here can have at most 25 MB." in answer.body

    def test_more_than_the_api_takes_is_rejected_by_the_service_after_the_key(self, nginx: Nginx) -> None:
        body = b"x" * 70_000
        (answer,) = exchange(nginx.plain, request("/v1/pets", f"Content-Length: {len(body)}", method="POST") + body)
        assert answer.error()["code"] == "api_key_missing"

    @pytest.mark.parametrize(
        ("given", "kept"), [("A" * 128, True), ("a.b_c-1", True), ("A" * 129, False), ("a b", False), ("<b>", False)]
    )
    @pytest.mark.parametrize("path", ["/v1/pets", "/v1/%C3%A4" + "a" * 4090])
    def test_the_callers_own_id_if_it_is_one(self, nginx: Nginx, path: str, given: str, kept: bool) -> None:
        (answer,) = exchange(nginx.plain, request(path, f"X-Request-ID: {given}"))
        answer.error()
        assert (answer.headers["X-Request-ID"] == given) is kept

    def test_the_services_headers_pass(self, server: Gunicorn, nginx: Nginx) -> None:
        def head(port: int) -> dict[str, str]:
            (answer,) = exchange(port, request("/v1/pets/1", "X-Request-ID: same", "Host-Port: x"))
            assert answer.status == 401
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return {name: value for name, value in headers.items() if name not in {"date", "server", "connection"}}

        direct, through = head(server.port), head(nginx.plain)
        policy = (direct.pop("content-security-policy"), through.pop("content-security-policy"))
        assert direct == through
        assert {"www-authenticate", "sunset", "deprecation", "link", "vary", "cache-control"} <= set(through)
        assert len({frozenset(each.split("; ")) for each in policy}) == 1


class TestConnections:
    def test_20_pipelined_requests_are_answered_in_order(self, port: int) -> None:
        marks = [word() for _ in range(20)]
        paths = ["/v1/pets", "/livez", "/v1/pets/1", "/nowhere"]
        sent = [request(paths[number % 4], f"X-Request-ID: {mark}") for number, mark in enumerate(marks)]
        answers = exchange(port, b"".join(sent))
        assert [answer.headers["X-Request-ID"] for answer in answers] == marks
        assert [answer.status for answer in answers] == [401, 200, 401, 404] * 5
        assert_readable(answers)

    def test_a_short_response_comes_in_one_piece(self, server: Gunicorn) -> None:
        with connected(server.port) as (connection, _):
            for _ in range(20):
                connection.sendall(request("/v1/pets"))
                assert connection.recv(65_536).endswith(b'"status":401}')

    def test_pipelined_bodies_are_not_requests(self, server: Gunicorn, port: int) -> None:
        marks = [word() for _ in range(6)]
        sent = [written(*CASES["chunk right" if number % 2 else "CL right"], mark) for number, mark in enumerate(marks)]
        answers = exchange(port, b"".join(sent))
        assert [(answer.status, answer.headers["X-Request-ID"]) for answer in answers] == [
            (401, mark) for mark in marks
        ]
        until(lambda: all(paths(server, mark).total() >= 1 for mark in marks))
        assert all(paths(server, mark) == {f"/v1/outer-{mark}": 1} for mark in marks)

    def test_a_half_closed_connection_gets_the_answer(self, port: int) -> None:
        with connected(port) as (connection, reader):
            connection.sendall(request("/docs/"))
            connection.shutdown(socket.SHUT_WR)
            answer = answer_on(reader)
            assert (answer.status, reader.read()) == (200, b"")

    @pytest.mark.parametrize(
        ("version", "lines", "left_open"),
        [
            ("HTTP/1.0", [], False),
            ("HTTP/1.0", ["Connection: keep-alive"], None),
            ("HTTP/1.1", [], True),
            ("HTTP/1.1", ["Connection: close"], False),
        ],
    )
    def test_who_closes(self, port: int, version: str, lines: list[str], left_open: bool | None) -> None:
        """HTTP/1.0 with `keep-alive` can be left open, or not."""
        with connected(port) as (connection, reader):
            connection.sendall(request("/livez", *lines, version=version) * 2)
            connection.shutdown(socket.SHUT_WR)
            answers = list(iter(lambda: read_answer(reader), None))
        assert {answer.status for answer in answers} == {200}
        assert len(answers) in ({1, 2} if left_open is None else {2 if left_open else 1})

    @pytest.mark.parametrize("late", [False, True])
    @pytest.mark.parametrize(
        ("framing", "body"),
        [
            ("Content-Length: 14", HIDDEN_BODY),
            (f"Content-Length: {64 * 1024}", HIDDEN_BODY * (64 * 1024 // 14) + b"x" * (64 * 1024 % 14)),
            ("Transfer-Encoding: chunked", b"e\r\n" + HIDDEN_BODY + b"\r\n0\r\n\r\n"),
        ],
        ids=["one read", "the longest", "chunked"],
    )
    @pytest.mark.parametrize("path", ["/v1/pets", "/livez"])
    def test_a_short_body_that_is_not_needed_keeps_the_connection(
        self, server: Gunicorn, path: str, framing: str, body: bytes, late: bool
    ) -> None:
        """Also if it comes after the response. None of it becomes a request."""
        with connected(server.port) as (connection, reader):
            for _ in range(3):
                head = request(path, framing, method="POST")
                connection.sendall(head if late else head + body)
                answer = answer_on(reader)
                assert (answer.status, answer.headers["Connection"]) == (401 if path == "/v1/pets" else 405, None)
                connection.sendall(body if late else b"")
            connection.sendall(request("/livez", "X-Request-ID: last"))
            last = answer_on(reader)
        assert (last.status, last.headers["X-Request-ID"]) == (200, "last")

    def test_100_rejected_additions_through_nginx_need_few_connections(self, server: Gunicorn) -> None:
        opened: list[socket.socket] = []
        sent = request("/v1/pets", "Content-Length: 2", method="POST") + b"{}"
        with (
            socket.create_server(("127.0.0.1", 0)) as before,
            running_nginx_before(before, passing_to(server.port, opened)) as nginx,
            connected(nginx.plain) as (connection, reader),
        ):
            opened.clear()
            for _ in range(100):
                connection.sendall(sent)
                answer = answer_on(reader)
                assert answer.error()["code"] == "api_key_missing"
            assert len(opened) <= 2, "one for each of nginx's workers"

    @pytest.mark.parametrize("lines", [["Content-Length: 14"], ["Transfer-Encoding: chunked"]])
    def test_a_body_that_waits_for_100_continue_is_not_waited_for(self, server: Gunicorn, lines: list[str]) -> None:
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/v1/pets", "Expect: 100-continue", *lines, method="POST"))
            answer = answer_on(reader)
            assert (answer.status, answer.headers["Connection"], reader.read()) == (401, "close", b"")

    @pytest.mark.parametrize(("version", "continues"), [("HTTP/1.1", True), ("HTTP/1.0", False)])
    def test_only_http_1_1_can_wait_for_100_continue(self, server: Gunicorn, version: str, *, continues: bool) -> None:
        """RFC 9110, section 10.1.1."""
        lines = [
            "Content-Type: application/json",
            "Expect: 100-continue",
            f"Authorization: Bearer {server.issue_key()}",
            "Content-Length: 2",
            "Connection: close",
        ]
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/v1/pets", *lines, method="POST", version=version) + b"{}")
            assert reader.readline().startswith(b"HTTP/1.1 100" if continues else b"HTTP/1.1 400")

    @pytest.mark.parametrize(
        ("line", "status"),
        [
            ("Transfer-Encoding: x", 501),
            ("User-Agent: a\x01b", 400),
            ("Host: another", 400),
            (f"Cookie: {'a' * 9000}", 400),
        ],
    )
    def test_a_rejected_head_request_has_no_body(self, server: Gunicorn, line: str, status: int) -> None:
        seen = []
        for method in ("GET", "HEAD"):
            with connected(server.port) as (connection, reader):
                connection.sendall(request("/v1/pets", line, method=method))
                seen.append(reader.read().split(b"\r\n\r\n"))
        (head, body), (same, nothing) = seen
        assert int(same.split()[1]) == int(head.split()[1]) == status
        assert (bool(body), nothing) == (True, b"")
        assert f"Content-Length: {len(body)}".encode() in same

    def test_a_body_that_goes_on_after_its_rejection_is_ended(self, server: Gunicorn) -> None:
        with connected(server.port) as (connection, reader):
            connection.sendall(request("/v1/pets", "Transfer-Encoding: chunked", method="POST"))
            answer = answer_on(reader)
            assert answer.status == 401
            begun = time.monotonic()
            with suppress(ConnectionError):
                while time.monotonic() - begun < 30:
                    connection.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                    time.sleep(0.01)
            assert time.monotonic() - begun < 20

    def test_a_slow_head_is_ended_by_the_deadline(self, nginx: Nginx) -> None:
        assert drip(nginx.hasty, request("/livez", f"X-A: {big(400)}")) < 20

    def test_a_slow_body_is_ended_by_the_deadline(self, server: Gunicorn, nginx: Nginx) -> None:
        mark, started = word(), time.monotonic()
        with connected(nginx.hasty) as (connection, reader):
            connection.sendall(request(f"/v1/{mark}", "Content-Length: 100", method="POST") + b"x")
            assert read_answer(reader) is None
        assert time.monotonic() - started > 0.5
        assert not server.logged(mark)


def drip(port: int, sent: bytes) -> float:
    """Send one byte after the other until the connection is ended; return the seconds, 30 at most."""
    started = time.monotonic()
    with connected(port) as (connection, _):
        connection.settimeout(0.1)
        for byte in sent[:300]:
            try:
                connection.sendall(bytes([byte]))
                if connection.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
    return time.monotonic() - started


class TestUpstream:
    def test_down_is_503_with_retry_after(self) -> None:
        with running_nginx(free_port()) as nginx:
            for sent in (request("/v1/pets"), request("/v1/pets", "Content-Length: 2", method="POST") + b"{}"):
                (answer,) = exchange(nginx.plain, sent)
                assert (answer.error(), answer.headers["Retry-After"]) == (UNAVAILABLE, "2")

    def test_an_answer_cut_short_is_503(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as broken, running_nginx_before(broken) as nginx:
            (answer,) = exchange(nginx.plain, request("/v1/pets", "Content-Length: 0", method="POST"))
        assert (answer.error(), answer.headers["Retry-After"]) == (UNAVAILABLE, "2")

    @pytest.mark.parametrize(
        ("method", "statuses", "sent"),
        [("GET", [200, 200, 200], ["GET"] * 6), ("POST", [503, 503, 503], ["POST", "GET", "POST", "GET", "POST"])],
    )
    def test_only_a_read_is_sent_again_if_its_kept_connection_is_closed(
        self, method: str, statuses: list[int], sent: list[str]
    ) -> None:
        received: list[str] = []
        read, asked = (request("/v1/pets", "Content-Length: 0", method=each) for each in ("GET", method))
        with (
            socket.create_server(("127.0.0.1", 0)) as closing,
            running_nginx_before(closing, once(received)) as nginx,
            connected(nginx.plain) as (connection, reader),
        ):

            def status(sent: bytes) -> int:
                connection.sendall(sent)
                answer = answer_on(reader)
                return answer.status

            assert status(read) == 200  # now this worker of nginx keeps a connection
            received.clear()
            seen = [status(asked)]
            for _ in range(2):
                if method == "POST":
                    assert status(read) == 200
                seen.append(status(asked))
        assert (seen, received) == (statuses, sent)


def say_nothing(connection: socket.socket) -> None:
    """Read a request and send no response."""
    connection.recv(1000)


def once(received: list[str]) -> Callable[[socket.socket], None]:
    """Return a server that responds to the first request on a connection and closes it at the second."""

    def serve(connection: socket.socket) -> None:
        for response in (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b""):
            if sent := connection.recv(1000):
                received.append(sent.split()[0].decode())
                connection.sendall(response)

    return serve


@contextmanager
def running_nginx_before(
    broken: socket.socket, serve: Callable[[socket.socket], None] = say_nothing
) -> Iterator[Nginx]:
    """Run nginx before something that serves each connection, then closes it."""

    def accept() -> None:
        while True:
            try:
                connection, _ = broken.accept()
            except OSError:
                return
            threading.Thread(target=served, args=(connection,)).start()

    def served(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            serve(connection)

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        with running_nginx(broken.getsockname()[1], kept="1h") as nginx:
            yield nginx
    finally:
        broken.shutdown(socket.SHUT_RDWR)
        acceptor.join()


def passing_to(port: int, opened: list[socket.socket]) -> Callable[[socket.socket], None]:
    """Return a server that passes everything on, both ways, each time on a connection of its own."""

    def serve(near: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", port)) as far:
            opened.append(far)
            other = {near: far, far: near}
            while True:
                for each in select.select([near, far], [], [])[0]:
                    part = each.recv(65_536)
                    if not part:
                        return
                    other[each].sendall(part)

    return serve


class TestSite:
    def test_tls(self, nginx: Nginx) -> None:
        answer = over_tls(nginx, "/v1/pets/1")
        assert answer.error()["code"] == "api_key_missing"
        help_link = '</docs/errors/api_key_missing>; rel="help"'
        assert answer.headers["Link"] == f'<https://petstore.example/v1/pets>; rel="successor-version", {help_link}'

    def test_links_repeat_the_port(self, nginx: Nginx) -> None:
        (answer,) = exchange(nginx.plain, b"GET /v1/pets/1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n")
        assert answer.headers["Link"].startswith('<http://127.0.0.1:8080/v1/pets>; rel="successor-version", ')

    @pytest.mark.parametrize("path", ["/v1", "/v1/pets", "//v1/pets", "/%761/pets", "/x/../v1/pets", "/v1/"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_no_api_in_the_clear_and_no_redirect_to_it(self, nginx: Nginx, method: str, path: str) -> None:
        mark = word()
        (answer,) = exchange(nginx.http, request(f"{path}?{mark}", "Authorization: Bearer x", method=method))
        assert (answer.error(), answer.headers["Location"]) == (NO_ROUTE, None)
        assert nginx.forwarded(mark) == 0

    @pytest.mark.parametrize("path", ["/", "/docs/?a=b", "/livez", "/admin/"])
    def test_the_rest_is_redirected(self, nginx: Nginx, path: str) -> None:
        (answer,) = exchange(nginx.http, f"GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode())
        assert (answer.status, answer.headers["Location"]) == (308, f"https://petstore.example{path}")

    def test_plain_http_to_the_tls_port(self, nginx: Nginx) -> None:
        (answer,) = exchange(nginx.https, request("/v1/pets"))
        assert answer.error() == BAD_REQUEST

    def test_nothing_else_is_found_in_the_errors_place(self, nginx: Nginx) -> None:
        (answer,) = exchange(nginx.plain, request("/.petstore/unavailable"))
        assert answer.error() == NO_ROUTE


def over_tls(nginx: Nginx, path: str) -> Answer:
    context = ssl.create_default_context(cafile=str(Path(nginx.folder) / "certificate.pem"))
    with (
        socket.create_connection(("127.0.0.1", nginx.https), 5) as connection,
        context.wrap_socket(connection, server_hostname="petstore.example") as secured,
        secured.makefile("rb") as reader,
    ):
        secured.sendall(f"GET {path} HTTP/1.1\r\nHost: petstore.example\r\n\r\n".encode())
        return answer_on(reader)

"""What nginx logs of a site, when its main log is at the level `info`: never a key."""

import socket
import ssl
from contextlib import ExitStack
from secrets import token_hex

import pytest

from tests.protocol.nginx import Nginx
from tests.protocol.wire import request

SECRET = token_hex(16)
KEY = f"pets_live_{SECRET}{SECRET[:14]}"
REJECTED = {
    "twice": request("/v1/pets", *[f"Authorization: Bearer {KEY}"] * 2),
    "NUL": request("/v1/pets", f"Authorization: Bearer {KEY}\0"),
    "line end": request("/v1/pets", f"Authorization: Bearer {KEY}\rX: y"),
    "too long": request("/v1/pets", f"Authorization: Bearer {KEY}{'x' * 17000}"),
    "other name": request("/v1/pets", f"X_Key: {KEY}"),
    "malformed name": request("/v1/pets", f"X@Key: {KEY}"),
    "no name": request("/v1/pets", f"{KEY}: x"),
    "no method": request("/v1/pets", method=KEY),
    "Host": f"GET / HTTP/1.1\r\nHost: {KEY}@/\r\n\r\n".encode(),
    "two Hosts": request("/v1/pets", f"Host: {KEY}"),
    "no HTTP": f"{KEY}\r\n\r\n".encode(),
}


@pytest.mark.parametrize("name", REJECTED)
@pytest.mark.parametrize("is_encrypted", [True, False], ids=["https", "http"])
def test_no_key_is_logged(nginx: Nginx, name: str, is_encrypted: bool) -> None:
    trusting = ssl.create_default_context(cafile=nginx.folder / "certificate.pem")
    with ExitStack() as stack:
        address = ("127.0.0.1", nginx.https if is_encrypted else nginx.http)
        connection = stack.enter_context(socket.create_connection(address, 8))
        if is_encrypted:
            connection = stack.enter_context(trusting.wrap_socket(connection, server_hostname="petstore.example"))
        connection.sendall(REJECTED[name].replace(b"127.0.0.1", b"petstore.example"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 4")
    logs = {log.name: log.read_text(errors="replace") for log in nginx.folder.glob("*.log")}
    assert {"error.log", "site.log"} <= logs.keys()
    assert [file for file, text in logs.items() if SECRET in text and file != "access.log"] == []

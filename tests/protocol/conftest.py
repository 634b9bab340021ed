"""One service and one nginx before it for the tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.protocol.nginx import Nginx, running_nginx
from tests.server import Gunicorn, running_server


@pytest.fixture(scope="package")
def server() -> Iterator[Gunicorn]:
    hosts = "127.0.0.1,petstore.example"
    with running_server(workers=1, ALLOWED_HOSTS=hosts, BEHIND_TLS_PROXY="true") as server:
        yield server


@pytest.fixture(scope="package")
def nginx(server: Gunicorn) -> Iterator[Nginx]:
    with running_nginx(server.port) as nginx:
        yield nginx


@pytest.fixture(params=["server", "nginx"])
def layer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def port(layer: str, server: Gunicorn, request: pytest.FixtureRequest) -> int:
    """The layer's port; nginx is started, or the test skipped, only where it is needed."""
    nginx = request.getfixturevalue("nginx") if layer == "nginx" else None
    return int(nginx.plain if nginx else server.port)

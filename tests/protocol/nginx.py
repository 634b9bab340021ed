"""A private nginx for the tests, with the very files of deploy/nginx on free ports of the loopback interface."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.server import ROOT, SECONDS, free_port, send, until

FILES = ROOT / "deploy" / "nginx"
MAIN = """\
daemon off;
error_log {folder}/error.log info;
pid {folder}/nginx.pid;
worker_processes 2;
{user}
events {{ worker_connections 2048; }}
http {{
    log_format counted "$upstream_status $request_method $request_uri";
    access_log {folder}/access.log counted;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include petstore/petstore.conf;
    server {{
        listen 127.0.0.1:{plain};
        server_name 127.0.0.1;
        include petstore/service.conf;
    }}
    server {{
        listen 127.0.0.1:{hasty};
        server_name 127.0.0.1;
        include petstore/hasty.conf;
    }}
{more}
}}
"""


class Nginx(NamedTuple):
    """The ports of a running nginx, and where it logs."""

    plain: int
    """Serves everything, in the clear, for tests that write bytes."""
    hasty: int
    """The same with deadlines of one second for the client."""
    https: int
    """The site example's."""
    http: int
    """The site example's, in the clear."""
    folder: Path

    def forwarded(self, word: str) -> int:
        """Return how many requests whose address has this word went on to the service."""
        lines = (self.folder / "access.log").read_text(errors="replace").splitlines()
        return sum(word in line and not line.startswith("- ") for line in lines)


def program(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not on PATH or in /usr/sbin")
    return found


@contextmanager
def running_nginx(
    *upstreams: int | str, base: str = "", more: str = "", kept: str = "1s", rate: str = "100000r/s"
) -> Iterator[Nginx]:
    """Run nginx before the services on these ports, or at these addresses, for the block; it must stop cleanly.

    `base` is the path under which they live, `more` is more text for the `http` context, `kept` how long it keeps
    connections to them, and `rate` what it allows an address.
    """
    path = program("nginx")
    with tempfile.TemporaryDirectory(prefix="petstore-nginx-") as name:
        nginx = Nginx(free_port(), free_port(), free_port(), free_port(), Path(name))
        _write_files(nginx, upstreams, base=base, more=more, kept=kept, rate=rate)
        command = [path, "-c", f"{name}/nginx.conf", "-e", f"{name}/error.log"]
        with (nginx.folder / "output").open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            until(lambda: process.poll() is not None or _answers(nginx.plain, f"{base}/livez"))
            assert process.poll() is None, (nginx.folder / "output").read_text()
            yield nginx
        finally:
            process.terminate()
            status = process.wait(SECONDS)
        assert status == 0


def _answers(port: int, path: str) -> bool:
    try:
        return bool(send(port, "GET", path).status)
    except OSError:
        return False


def _write_files(nginx: Nginx, upstreams: tuple[int | str, ...], *, base: str, more: str, kept: str, rate: str) -> None:
    folder = nginx.folder
    make_certificate(folder)
    # Only root can give its workers to another user, who could not read a temporary folder.
    user = "user root;" if os.geteuid() == 0 else ""
    main = MAIN.format(folder=folder, user=user, plain=nginx.plain, hasty=nginx.hasty, more=more)
    (folder / "nginx.conf").write_text(main)
    shutil.copytree(FILES, folder / "petstore")
    site = {
        "127.0.0.1:8000": " max_conns=1000; server ".join(
            each if isinstance(each, str) else f"127.0.0.1:{each}" for each in upstreams
        ),
        "keepalive_timeout  1s": f"keepalive_timeout {kept}",
        "listen      443 ssl": f"listen 127.0.0.1:{nginx.https} ssl",
        "listen      80;": f"listen 127.0.0.1:{nginx.http};",
        "/etc/ssl/petstore.example.pem": f"{folder}/certificate.pem",
        "/etc/ssl/private/petstore.example.key": f"{folder}/key.pem",
    }
    if base:  # docs/nginx.md, "Under a path"
        site["location ^~ /v1 {"] = f"location ^~ {base}/v1 {{"
        _change(folder, "service.conf", {"location / {": f"location {base}/ {{"})
        named = 'map "" $petstore_base_path {\n    default "'
        _change(folder, "context.conf", {named: f"{named}{base}"})
    _change(folder, "petstore.conf", site)
    _change(folder, "context.conf", {"rate=500r/s": f"rate={rate}"})
    hasty = {
        "client_header_timeout 10s": "client_header_timeout 1s",
        "client_body_timeout   10s": "client_body_timeout 1s",
        "send_timeout          10s": "send_timeout 1s",
    }
    shutil.copy(folder / "petstore" / "service.conf", folder / "petstore" / "hasty.conf")
    _change(folder, "hasty.conf", hasty)


def _change(folder: Path, name: str, replacements: dict[str, str]) -> None:
    file = folder / "petstore" / name
    text = file.read_text().replace("/var/log/nginx/error.log", f"{folder}/site.log")
    for old, new in replacements.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text)


def make_certificate(folder: Path) -> None:
    """Put a new one for petstore.example, and its key, into the folder."""
    command = [
        program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=petstore.example", "-addext", "subjectAltName=DNS:petstore.example",
        "-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem"),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)

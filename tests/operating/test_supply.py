"""`make audit` and `make sbom`: what the service is made of, and what is known about it."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.server import ROOT

LOCK = "requirements/base.txt"
VULNERABLE = {
    "id": "PYSEC-2026-1",
    "summary": "x",
    "affected": [
        {
            "package": {"name": "orjson", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "99.1"}]}],
        }
    ],
}


@contextmanager
def database(vulnerable: str = "", status: int = 200) -> Iterator[str]:
    """Run a database of vulnerabilities that knows one about the package `vulnerable`, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]["name"]
            body = json.dumps({"vulns": [VULNERABLE]} if asked == vulnerable else {}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock of two packages."""
    kept = re.findall(r"^(?:orjson|whitenoise)==.*?(?=^\S|\Z)", (ROOT / LOCK).read_text(), re.MULTILINE | re.DOTALL)
    assert len(kept) == 2
    (tmp_path / "base.txt").write_text("".join(kept))
    return tmp_path / "base.txt"


def audit(lock: Path, address: str) -> tuple[int, str]:
    options = f"AUDIT_ARGS=--vulnerability-service osv --osv-url {address}"
    make = ["make", "--old-file", ".venv/installed-dev", "audit", f"LOCKS={lock}", options]
    environment = {"PATH": os.environ["PATH"], "HOME": str(lock.parent), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(make, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_all_is_well_only_if_every_version_was_checked(lock: Path) -> None:
    version = re.findall(r"^orjson==([0-9.]+)", (ROOT / LOCK).read_text(), re.MULTILINE)[0]
    with database() as address:
        assert audit(lock, address)[0] == 0
    with database("orjson") as address:
        status, printed = audit(lock, address)
    assert status != 0
    assert re.search(rf"orjson +{version} +PYSEC-2026-1 +99.1", printed)
    with database(status=503) as address:
        assert 0 not in {audit(lock, each)[0] for each in (address, "http://127.0.0.1:1")}
        lock.write_text(lock.read_text().replace("whitenoise==", "whitenoise>="))
    with database() as address:
        assert audit(lock, address)[0] != 0


def test_the_bill_of_materials_is_the_lock(tmp_path: Path) -> None:
    make = ["make", "--old-file", ".venv/installed-dev", "sbom", f"SBOM={tmp_path}"]
    subprocess.run(make, cwd=ROOT, capture_output=True, check=True)
    for name in ("base", "opentelemetry"):
        bom: dict[str, Any] = json.loads((tmp_path / f"{name}.cdx.json").read_text())
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert (bom["bomFormat"], bom["metadata"]["component"]["name"]) == ("CycloneDX", "petstore")
        assert bom["metadata"]["component"]["version"] == project["version"]
        listed = {f"{part['name']}=={part['version']}" for part in bom["components"]}
        text = (ROOT / f"requirements/{name}.txt").read_text()
        assert listed == set(map("".join, re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?(==[\w.]+)", text, re.MULTILINE)))
        hashes = {
            one["content"] for part in bom["components"] for at in part["externalReferences"] for one in at["hashes"]
        }
        assert hashes == set(re.findall(r"sha256:(\w{64})", text))

"""`Dockerfile` and `compose.yaml`: nothing that the service needs is missing, and each container can do little."""

import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml

from tests.server import ROOT, Gunicorn, running_server

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_the_image_has_every_package_and_what_pages_are_made_of() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    assert copied == {*packages, "clients", "deploy", "docs", "templates"}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} >= copied


def test_the_image_has_the_license() -> None:
    copied = re.findall(r"^COPY (?!--)(.+) \./$", DOCKERFILE, re.MULTILINE)
    assert "LICENSE" in copied[0].split()
    assert "!LICENSE" in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_image_runs_without_rights() -> None:
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["10001"]


@pytest.mark.parametrize("service", sorted(COMPOSE["services"].keys() - {"database"}))
def test_containers_are_read_only_and_without_capabilities(service: str) -> None:
    options = COMPOSE["services"][service]
    assert options["read_only"] is True
    assert options["cap_drop"] == ["ALL"]
    assert ("cap_add" in options) == (service in {"nginx", "prepare"})
    assert options["security_opt"] == ["no-new-privileges:true"]


def test_only_nginx_is_published() -> None:
    published = {name: options["ports"] for name, options in COMPOSE["services"].items() if "ports" in options}
    others = [port for name, ports in published.items() if name != "nginx" for port in ports]
    assert all(port.startswith("127.0.0.1:") for port in others), "metrics are for this machine's Prometheus"


def test_no_secret_is_in_an_environment_variable() -> None:
    names = {name for options in COMPOSE["services"].values() for name in options.get("environment", {})}
    assert {
        name for name in names if re.search("KEY|PASSWORD|DATABASE_URL", name) and not name.endswith("_FILE")
    } == set()


def healthy(port: int, host: str) -> int:
    command = [sys.executable, str(ROOT / "deploy/healthy.py")]
    return subprocess.run(command, env={"PORT": str(port), "ALLOWED_HOSTS": host}, check=False).returncode


def test_the_health_check() -> None:
    with running_server(workers=1) as server:
        service: Gunicorn = server
        assert healthy(service.port, "127.0.0.1,other.example") == 0
        assert healthy(service.port, "unknown.example") == 0  # whatever the Host header says
    assert healthy(service.port, "127.0.0.1") == 1

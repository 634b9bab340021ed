"""`deploy/kubernetes`: the manifests are what Kubernetes accepts, name what exists, and their commands run."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from petstore_site.configuration.variables import GROUPS
from tests.server import ROOT, empty_database, running_server
from tests.with_postgresql import Server

FOLDER = ROOT / "deploy/kubernetes"
OVERLAYS = ("production", "external-database")
OPERATORS = {"postgresql.cnpg.io/v1", "barmancloud.cnpg.io/v1"}
"""Their schemas come with no package: docs/kubernetes.md says what they were compared with."""
SETTINGS = {variable.name for group in GROUPS.values() for variable in group} | {
    f"{variable.name}_FILE" for group in GROUPS.values() for variable in group if variable.is_secret
}
Document = dict[str, Any]

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")


@cache
def built(overlay: str) -> list[Document]:
    command = ["kubectl", "kustomize", str(FOLDER / "overlays" / overlay)]
    return list(yaml.safe_load_all(subprocess.run(command, capture_output=True, check=True).stdout))


def secrets(host: str = "db.example") -> list[Document]:
    command = [sys.executable, str(FOLDER / "make_secrets.py"), host]
    items: list[Document] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["items"]
    return items


def pods(overlay: str) -> dict[str, Document]:
    """Return the name of each workload and its pod."""
    found = {}
    for each in built(overlay):
        spec = each.get("spec", {}).get("jobTemplate", each).get("spec", {})
        if "containers" in spec.get("template", {}).get("spec", {}):
            found[str(each["metadata"]["name"])] = spec["template"]
    return found


def containers(overlay: str) -> list[Document]:
    return [
        each for pod in pods(overlay).values() for kind in ("initContainers", "containers") for each in pod["spec"].get(kind, [])
    ]  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> Any:
    """What loads for more than a second, in each run that only collects this file."""
    return import_module("kubernetes_validate")


def test_the_validator_notices_a_mistake(validator: Any) -> None:
    document = json.loads(json.dumps(next(each for each in built("production") if each["kind"] == "Deployment")))
    document["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(validator.ValidationError, match="readOnly"):
        validator.validate(document, "1.37", strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubernetes_accepts_them(validator: Any, overlay: str) -> None:
    for document in [*built(overlay), *secrets()]:
        if document["apiVersion"] not in OPERATORS:
            validator.validate(document, "1.37", strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_pod_has_no_rights(overlay: str) -> None:
    for pod in pods(overlay).values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(overlay):
        context = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == context
        assert container["resources"]["limits"]["memory"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_they_name_exists(overlay: str) -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in built(overlay)}
    given = {each["metadata"]["name"]: set(each["stringData"]) for each in secrets()}
    for pod in pods(overlay).values():
        for volume in pod["spec"].get("volumes", []):
            if "secret" in volume:
                assert {item["key"] for item in volume["secret"]["items"]} <= given[volume["secret"]["secretName"]]
    for container in containers(overlay):
        for source in container.get("envFrom", []):
            assert ("ConfigMap", source["configMapRef"]["name"]) in names
    [settings] = [each for each in built(overlay) if each["kind"] == "ConfigMap"]
    own = {variable["name"] for container in containers(overlay) for variable in container.get("env", [])}
    assert {*settings["data"], *own} <= SETTINGS
    labels = [pod["metadata"]["labels"] for pod in pods(overlay).values()]
    for each in built(overlay):
        selector = each["spec"]["selector"] if each["kind"] == "Service" else None
        assert selector is None or any(selector.items() <= label.items() for label in labels)


def test_pods_stay_in_while_the_database_that_all_share_is_lost(postgresql: Server) -> None:
    [web] = pods("production")["petstore"]["spec"]["containers"]
    paths = [web[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")]
    with running_server(database=postgresql.url, workers=1) as service:
        service.manage("migrate", "--verbosity=0")
        key = service.issue_key()
        assert service.get("/v1/pets", key).status == 200
        postgresql.stop(signal.SIGKILL)
        try:
            assert [service.send("GET", path).status for path in paths] == [200] * 3
            answer = service.get("/v1/pets", key)
            assert (answer.status, answer.json()["code"], answer.headers["Retry-After"]) == (503, "unavailable", "2")
        finally:
            postgresql.start()


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_migrate_has_the_role_that_changes_the_schema(overlay: str) -> None:
    used = {
        name: {volume["secret"]["secretName"] for volume in pod["spec"].get("volumes", []) if "secret" in volume}
        for name, pod in pods(overlay).items()
    }
    service = {"petstore-service"}
    assert used == {
        "petstore": service, "petstore-daily": service,
        "petstore-migrate": {"petstore-migrator"}, "petstore-cache": set(),
    }  # fmt: skip


def test_the_image_is_the_one_of_the_dockerfile() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["web"]["image"]
    used = {each["image"] for each in containers("production")} - {"valkey/valkey:8-bookworm"}
    assert used == {f"registry.example/{compose}"}
    users = {pod["spec"]["securityContext"]["runAsUser"] for name, pod in pods("production").items() if name != "petstore-cache"}  # fmt: skip
    assert users == {int(user) for user in re.findall(r"^USER (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)}


def test_the_host_is_set_in_one_place() -> None:
    [ingress] = [each for each in built("production") if each["kind"] == "Ingress"]
    assert {ingress["spec"]["rules"][0]["host"]} == set(ingress["spec"]["tls"][0]["hosts"]) == {"petstore.example"}


@pytest.fixture
def environment(tmp_path: Path) -> Any:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with empty_database(tmp_path) as url:
        yield {"PATH": path, "DATABASE_URL": url}


def command_of(name: str) -> list[str]:
    [command] = [each["command"] for each in containers("production") if each["name"] == name]
    return list(command)


def test_the_rollout_waits_for_the_migrations(environment: dict[str, str]) -> None:
    with subprocess.Popen(command_of("wait-for-migrations"), cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as waiting:  # fmt: skip
        time.sleep(3)
        assert waiting.poll() is None
        subprocess.run([*command_of("migrate"), "--verbosity=0"], cwd=ROOT, env=environment, check=True)
        assert waiting.wait(60) == 0
    subprocess.run(command_of("daily"), cwd=ROOT, env=environment, check=True, capture_output=True)

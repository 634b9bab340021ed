"""The alert rules, the dashboard, the runbook and the units for systemd: what they name exists."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from petstore_site.serving.metrics import Metrics
from tests.server import ROOT

MONITORING = ROOT / "deploy/monitoring"
UNITS = [*sorted((ROOT / "deploy/systemd").iterdir()), ROOT / "deploy/ha/patroni.service"]
GROUPS: list[dict[str, Any]] = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
ALERTS: list[dict[str, Any]] = [alert for group in GROUPS for alert in group["rules"]]
NAME = re.compile(r"petstore_[a-z_]+")


def known() -> set[str]:
    """Return the names of our metrics, as Prometheus stores them."""
    families = list(Metrics().registry.collect())
    counters = {f"{family.name}_total" for family in families if family.type == "counter"}
    histograms = {f"{family.name}_bucket" for family in families if family.type == "histogram"}
    gauges = {family.name for family in families if family.type == "gauge"}
    return counters | histograms | gauges


def test_alerts_and_dashboard_name_metrics_that_exist() -> None:
    used = {name for alert in ALERTS for name in NAME.findall(alert["expr"])}
    board = json.loads((MONITORING / "dashboard.json").read_text())
    used |= {name for panel in board["panels"] for target in panel["targets"] for name in NAME.findall(target["expr"])}
    assert used == known()


def test_each_alert_has_its_section_in_the_runbook() -> None:
    text = (ROOT / "docs/runbook.md").read_text()
    sections = dict(zip(*[iter(re.split(r"^## (\w+)$", text, flags=re.MULTILINE)[1:])] * 2, strict=True))
    assert list(sections) == [alert["alert"] for alert in ALERTS]
    assert all(re.findall(r"^\*\*(\w+):\*\*", section, re.MULTILINE) == ["Look", "Do"] for section in sections.values())  # fmt: skip
    assert all(alert["annotations"]["runbook_url"].endswith(f"#{alert['alert'].lower()}") for alert in ALERTS)


def test_every_metric_is_described() -> None:
    text = (ROOT / "docs/monitoring.md").read_text()
    assert {name.removesuffix("_bucket") for name in known()} - set(NAME.findall(text)) == set()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on PATH (Debian: prometheus)")
@pytest.mark.parametrize("arguments", [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]])
def test_promtool_accepts_the_alerts(arguments: list[str]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=MONITORING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The units, with the paths of this checkout for those of an installation."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/petstore", str(ROOT)).replace("/opt/patroni/bin/python3", sys.executable)
        (tmp_path / unit.name).write_text(text)
    return tmp_path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on PATH")
class TestUnits:
    def test_they_are_valid(self, installed: Path) -> None:
        files = [str(installed / unit.name) for unit in UNITS]
        command = ["systemd-analyze", "verify", "--man=no", *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    @pytest.mark.parametrize("unit", [unit.name for unit in UNITS if unit.suffix == ".service"])
    def test_they_are_hardened(self, installed: Path, unit: str) -> None:
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", unit]
        path = {"SYSTEMD_UNIT_PATH": str(installed), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([*command[:-1], str(installed / unit)], env=path, capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_uses_the_database_can_write_where_an_sqlite_file_is() -> None:
    texts = {unit.stem: unit.read_text() for unit in UNITS if unit.suffix == ".service"}
    users = {name for name, text in texts.items() if "\nEnvironmentFile=/etc/petstore/environment\n" in text}
    assert users == {"petstore", "petstore-daily"}
    state = {name for name, text in texts.items() if "\nStateDirectory=petstore\n" in text}
    assert state == users | {"petstore-back-up-sqlite"}
    assert "DATABASE_URL=sqlite:////var/lib/petstore/" in (ROOT / "docs/install.md").read_text()


def test_each_job_has_a_timer_and_runs_unprivileged() -> None:
    services = {unit.stem for unit in UNITS if unit.suffix == ".service"}
    timers = {unit.stem for unit in UNITS if unit.suffix == ".timer"}
    assert services - timers == {"petstore", "patroni"}
    users = {re.findall(r"^User=(\w+)$", unit.read_text(), re.MULTILINE)[0] for unit in UNITS if unit.suffix == ".service"}  # fmt: skip
    assert users == {"petstore", "postgres"}

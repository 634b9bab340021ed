"""Three database machines with the files of deploy/ha, on loopback."""

import base64
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import psycopg

from lab.trial.programs import Program, find, find_postgresql, free_port, send, send_to_all, wait_until

FILES = Path(__file__).resolve().parents[2] / "deploy" / "ha"
NUMBERS = (1, 2, 3)
PORTS = (2379, 2380, 5432, 8008)


class Machine(NamedTuple):
    """The programs that run on one machine, and their ports."""

    etcd: Program
    patroni: Program
    data: Path
    postgresql_port: int
    api_port: int


class Cluster:
    """Three machines with the files of deploy/ha, on ports of 127.0.0.1, and HAProxy before them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.account = "postgres" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
        if self.account:
            shutil.chown(folder, self.account)
        # Replaced in the files: the addresses of the machines, and the few others that are this machine's own.
        self.addresses = {f"db{each}:{port}": f"{self.host(each)}:{free_port()}" for each in NUMBERS for port in PORTS}
        self.addresses |= {"/var/run/postgresql": str(folder)}
        self.port = free_port()
        self.machines = {number: self._machine(number) for number in NUMBERS}
        self.haproxy = Program(folder, "haproxy", [find("haproxy"), "-f", self._haproxy_file()], {}, None)

    @classmethod
    @contextlib.contextmanager
    def running(cls, *arguments: Any) -> Iterator[Self]:
        """Run a new cluster with an empty database for the block."""
        # In /tmp, since the path of a socket must be short.
        with tempfile.TemporaryDirectory(prefix="petstore-ha-", dir="/tmp", ignore_cleanup_errors=True) as folder:
            cluster = cls(Path(folder), *arguments)
            try:
                for number in NUMBERS:
                    cluster.start(number)
                cluster.haproxy.start()
                cluster.wait_until_whole()
                cluster.create_database()
                yield cluster
            finally:
                cluster.stop()

    def host(self, _number: int) -> str:
        """Return the address of this machine."""
        return "127.0.0.1"

    def within(self, _number: int) -> list[str]:
        """Return what begins each command of this machine."""
        return []

    def variables(self, _number: int) -> dict[str, str]:
        """Return what Patroni and PostgreSQL of this machine find in their environment besides."""
        return {}

    def start(self, number: int) -> None:
        """Start what runs on this machine."""
        self.machines[number].etcd.start()
        self.machines[number].patroni.start()

    def signal(self, number: int, sent: signal.Signals) -> None:
        """Send it to all that runs on this machine."""
        machine = self.machines[number]
        send_to_all([machine.patroni.pid, machine.etcd.pid, *self.postgresql(number)], sent)

    def postgresql(self, number: int) -> list[int]:
        """Return the processes of PostgreSQL on this machine, the postmaster first."""
        try:
            postmaster = int((self.machines[number].data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii")
        except (OSError, IndexError):
            return []
        return [postmaster, *map(int, children.split())]

    def ask(self, number: int, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send a request to the Patroni of this machine; the status is 0 if there is no response."""
        name = base64.b64encode(b"patroni:PASSWORD").decode()
        sent = json.dumps(body) if body else None
        api = self.machines[number].api_port
        return send(api, method, path, sent, {"Authorization": f"Basic {name}"}, host=self.host(number))

    def primary(self) -> int:
        """Wait until there is a primary, and return its number."""
        return self._one_that_is("primary")

    def synchronous_standby(self) -> int:
        """Wait until there is a standby that confirms each COMMIT, and return its number."""
        return self._one_that_is("synchronous")

    def _one_that_is(self, role: str) -> int:
        return int(
            wait_until(lambda: next((each for each in NUMBERS if self.ask(each, "GET", f"/{role}")[0] == 200), 0))
        )

    def forget_leader(self) -> None:
        """End the lease of the leader's key in etcd."""
        key = base64.b64encode(b"/service/petstore/leader").decode()
        found = self._ask_etcd("kv/range", {"key": key})["kvs"]
        self._ask_etcd("lease/revoke", {"ID": found[0]["lease"]})

    def wait_until_whole(self) -> None:
        """Wait until there are a primary, two standbys that follow it, and a synchronous one among them."""
        wait_until(self._is_whole)

    def query(self, statement: str) -> list[Any]:
        """Run a statement on the primary as a superuser."""
        address = f"postgres://postgres:PASSWORD@{self.addresses[f'db{self.primary()}:5432']}"
        with psycopg.connect(f"{address}/petstore", autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def create_database(self) -> None:
        """Create the service's role and database."""
        address = f"postgres://postgres:PASSWORD@{self.addresses[f'db{self.primary()}:5432']}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE ROLE petstore LOGIN PASSWORD 'PASSWORD'")
            connection.execute("CREATE DATABASE petstore OWNER petstore")
            connection.execute("GRANT pg_monitor TO petstore")

    def stop(self) -> None:
        """End everything."""
        self.haproxy.kill()
        for number, machine in self.machines.items():
            self.signal(number, signal.SIGKILL)
            machine.patroni.kill()
            machine.etcd.kill()

    def keep_logs(self, folder: Path) -> None:
        """Copy the logs of all programs there."""
        for log in self.folder.rglob("*.log"):
            kept = folder / log.relative_to(self.folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, kept)

    def _ask_etcd(self, path: str, body: Any) -> Any:
        """Send a request to the etcd beside the primary."""
        host, port = self.addresses[f"db{self.primary()}:2379"].split(":")
        return json.loads(send(int(port), "POST", f"/v3/{path}", json.dumps(body), host=host)[1])

    def _is_whole(self) -> bool:
        body = self.ask(self.primary(), "GET", "/cluster")[1]
        found = json.loads(body or b"{}").get("members", [])
        roles = Counter(each["role"] for each in found if each["state"] in {"running", "streaming"})
        behind = [each for each in found if each["role"] != "leader" and each.get("lag") not in range(1_000_000)]
        return roles == {"leader": 1, "sync_standby": 1, "replica": 1} and not behind

    def _machine(self, number: int) -> Machine:
        home = self.folder / f"db{number}"
        home.mkdir()
        if self.account:
            shutil.chown(home, self.account)
        own = {"ETCD_NAME": f"db{number}", "PATRONI_NAME": f"db{number}"}
        own |= {"ETCD_DATA_DIR": f"{home}/etcd", "PATRONI_POSTGRESQL_DATA_DIR": f"{home}/data"}
        own |= {"PATRONI_POSTGRESQL_PGPASS": f"{home}/pgpass", "PATRONI_POSTGRESQL_BIN_DIR": find_postgresql()}
        etcd = self._environment("etcd.env", number) | own
        patroni = self._environment("patroni.env", number) | own | self.variables(number)
        file = home / "patroni.yml"
        file.write_text(self._filled((FILES / "patroni.yml").read_text(encoding="utf-8")), encoding="utf-8")
        careful = home / "careful_patroni.py"
        shutil.copyfile(FILES / careful.name, careful)  # PostgreSQL's account cannot always read our folder
        python = str(Path(find("patroni")).with_name("python3"))
        before = self.within(number)
        account = None if before else self.account
        return Machine(
            Program(home, "etcd", [*before, find("etcd")], etcd, account),
            Program(home, "patroni", [*before, python, str(careful), str(file)], patroni, account),
            home / "data",
            *(int(self.addresses[f"db{number}:{port}"].split(":")[1]) for port in (5432, 8008)),
        )

    def _environment(self, name: str, number: int) -> dict[str, str]:
        """Return the variables of a file that is written for db1."""
        lines = [line for line in (FILES / name).read_text(encoding="utf-8").splitlines() if line[:1] not in {"", "#"}]
        variables = dict(line.split("=", 1) for line in lines)
        common = {"ETCD_INITIAL_CLUSTER"}
        variables |= {key: text.replace("db1", f"db{number}") for key, text in variables.items() if key not in common}
        return {key: self._filled(text) for key, text in variables.items()}

    def _haproxy_file(self) -> str:
        text = (FILES / "haproxy.cfg").read_text(encoding="utf-8").replace("127.0.0.1:5432", f"127.0.0.1:{self.port}")
        for number in NUMBERS:
            api = self.addresses[f"db{number}:8008"].split(":")[1]
            text = text.replace(f"db{number}:5432 check port 8008", f"db{number}:5432 check port {api}")
        (self.folder / "haproxy.cfg").write_text(self._filled(text), encoding="utf-8")
        return str(self.folder / "haproxy.cfg")

    def _filled(self, text: str) -> str:
        for old, new in self.addresses.items():
            text = text.replace(old, new)
        return text

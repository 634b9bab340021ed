"""`python -m lab.debian.systemd`: docs/install.md's own commands on a Debian that boots, and what may happen afterwards."""

import http.client
import json
import re
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import ROOT

from lab.debian.base import FOLDER, released, releases, run, wheels
from lab.debian.machine import CommandError, Machine, blocks
from lab.rehearsals.callers import Callers, Connect, encrypted, plain
from lab.rehearsals.stage import RehearsalError, expect, say, timed
from lab.trial.programs import wait_until

HOST = "petstore.example"
FIRST, NEXT, BROKEN = "9.0.0", "9.1.0", "9.2.0"
COUNT = 6
ANIMALS = 1_000_000
WAIT_SECONDS = 1.0
"""A response that takes longer had to wait for something."""

BY_HAND, DEPLOY = blocks("By hand"), blocks("Deploy a release")
[FROM_1] = blocks("Upgrade from an old release")
GET = BY_HAND[0][BY_HAND[0].index("get() {") : BY_HAND[0].index("\n}\n") + 3].replace("REPOSITORY", "/repository")
MANAGE = next(line for line in BY_HAND[3].splitlines() if line.startswith("manage()"))
PACKAGES = re.findall(r"apt-get install (.+)", BY_HAND[0])[0]
KILL_A_WORKER = """\
main=$(systemctl show --property MainPID --value petstore)
for worker in $(cat /proc/$main/task/$main/children); do
    if cmp --silent /proc/$main/cmdline /proc/$worker/cmdline; then kill -9 "$worker"; exit; fi
done
exit 1
"""
ALLOW_BACKUPS = """\
echo 'backup postgres petstore_backup' >>/etc/postgresql/15/main/pg_ident.conf
sed --in-place '1i local all,replication petstore_backup peer map=backup' /etc/postgresql/15/main/pg_hba.conf
"""
DRILLED = "journalctl --boot --unit petstore-restore-drill --output cat"
SECOND = r"""
cd /etc/systemd/system
sed 's/:8000/:8001/' petstore.socket >petstore-2.socket
sed 's/petstore[.]socket/petstore-2.socket/; s#^EnvironmentFile=.*#&\nEnvironmentFile=/etc/petstore/second#' petstore.service >petstore-2.service
echo METRICS_PORT=9001 >/etc/petstore/second
systemctl daemon-reload
systemctl enable --now petstore-2.socket petstore-2.service
openssl req -x509 -newkey rsa:2048 -nodes -days 7 -subj /CN=petstore.example \
    -keyout /etc/ssl/private/petstore.example.key -out /etc/ssl/petstore.example.pem
install -d /etc/nginx/petstore
cd /opt/petstore/deploy/nginx
cp context.conf service.conf errors.conf /etc/nginx/petstore/
sed 's/\( *server 127.0.0.1:\)8000\(.*\)/&\n\18001\2/' petstore.conf >/etc/nginx/sites-enabled/petstore.conf
nginx -t
systemctl reload nginx
"""


class Store(Machine):
    """The machine of docs/install.md."""

    def __init__(self, **shown: Path) -> None:
        """Make it, with these folders."""
        super().__init__(PACKAGES, **shown)
        self.key, self.called = "", list[Callers]()

    def guide(self, commands: str) -> str:
        """Run commands of the guide in the folder of the release that runs."""
        return self.run(f"{GET}{MANAGE}\ncd /opt/petstore\n{commands}")

    def callers(self, connect: Connect) -> Callers:
        """Return callers whose connections begin in the machine."""

        def begin() -> http.client.HTTPConnection:
            self.enter_network()
            return connect()

        self.called.append(Callers(begin, self.key, HOST))
        return self.called[-1]

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call the service in the block; no request may fail, however long it waits."""
        with self.callers(plain(8000, 60)).calling():
            yield

    def release(self) -> str:
        """Return which one serves."""
        return str(
            json.loads(self.run("curl --silent --show-error --max-time 60 http://127.0.0.1:8000/readyz"))["release"]
        )

    def animals(self) -> int:
        """Return how many of the callers' animals are in the database."""
        count = "SELECT count(*) FROM pets_pet WHERE name = 'Rehearsal'"
        return int(self.run(f'runuser -u postgres -- psql --dbname petstore --tuples-only --command "{count}"'))


def install(store: Store, version: str) -> None:
    """By hand, steps 1 to 5, as the guide of that release says, and the first category and the first key."""
    guide = run("git", "show", f"{released(version)}:docs/install.md")
    get, database, settings, prepare, start = blocks("By hand", guide)
    store.run(
        re.sub(r"apt-get install .+", f"apt-get install --yes {PACKAGES}", get).replace("REPOSITORY", "/repository")
    )
    password = secrets.token_hex(16)  # printf would take a "-" at its start for an option
    store.guide(re.sub(r"(?m)^(.*\\password)", rf"printf '{password}\\n{password}\\n' | \1", database))
    settings = settings.replace("SECRET_KEY=...", f"SECRET_KEY={secrets.token_urlsafe(64)}").replace(
        "PASSWORD", password
    )
    for name, text in (
        ("environment", settings),
        ("migrator", settings.replace("petstore_service", "petstore_migrator")),
    ):
        store.run(f"umask 077; cat >/etc/petstore/{name} <<'END'\n{text}END\n")
    store.guide(prepare)
    store.guide(start)
    expect(store.release() == version, "Another release serves.")
    store.run(f"(echo name,category,status; seq {ANIMALS} | sed 's/.*/Bella &,Dogs,sold/') >/srv/animals.csv")
    store.guide(
        "manage environment create_admin anna; manage environment import_pets /srv/animals.csv --create-categories"
    )
    issued = store.guide('manage environment issue_api_key "Partner shop" --rate-limit 1000000/min --secret-only')
    store.key = issued.strip().splitlines()[-1]


def check_and_migrate(store: Store, version: str) -> None:
    """Deploy a release, steps 2 to 4: nothing uses it yet."""
    check = DEPLOY[0].replace(DEPLOY[0].splitlines()[0], f"VERSION={version}")
    again = "for i in 1 2 3 4 5; do ! manage migrator migrate || break; done"  # if a table is in use
    store.guide(f"{check}\n{again}\n{BY_HAND[3].splitlines()[-1]}")


def upgrade(store: Store) -> None:
    """Upgrade from 1.x, as the guide says."""
    with store.calling(), timed("checked and migrated"):
        check_and_migrate(store, FIRST)
    callers = store.callers(plain(8000, 60))
    with callers.trying(COUNT):
        with timed("linked, stopped and started"):
            store.guide(f"VERSION={FIRST}\n{FROM_1}")
        time.sleep(2)
    say(f"responses: {dict(callers.responses)}, the slowest after {max(callers.seconds):.1f} s")
    expect(store.release() == FIRST, "The old release serves.")


def restart(store: Store) -> None:
    """`systemctl restart petstore` under load, three times."""
    with store.calling():
        store.run("for i in 1 2 3; do systemctl restart petstore; sleep 2; done")


def kill_worker(store: Store) -> None:
    """A worker is killed: only those that it was serving fail."""
    callers = store.callers(plain(8000, 60))
    with callers.trying(COUNT):
        time.sleep(2)
        store.run(KILL_A_WORKER)
        time.sleep(5)
    say(f"responses: {dict(callers.responses)}")
    failed = callers.responses.total() - callers.responses["GET 200"] - callers.responses["POST 201"]
    expect(failed <= COUNT, "More requests failed than there were callers.")


def kill_master(store: Store) -> None:
    """The master is killed."""
    with store.calling():
        store.run(
            "systemctl kill --kill-whom=main --signal=KILL petstore; sleep 1; until systemctl is-active petstore; do sleep 0.1; done"
        )


def deploy(store: Store) -> None:
    """Deploy a release."""
    with store.calling():
        check_and_migrate(store, NEXT)
        store.guide(f"VERSION={NEXT}\n{DEPLOY[1]}")
    expect(store.release() == NEXT, "The old release serves.")


def deploy_broken(store: Store) -> None:
    """A release that cannot be loaded, and the way back."""
    store.guide(f"get {BROKEN}; manage environment collectstatic --no-input")
    with store.calling():
        try:
            store.guide(f"VERSION={BROKEN}\n{DEPLOY[1]}")
        except CommandError:  # the restart
            say(store.run("journalctl --unit petstore --lines 50 --output cat | grep ^ModuleNotFound | tail --lines 1"))
        else:
            expect(None, "It could be started.")
        time.sleep(3)
        store.guide(f"VERSION={NEXT}\n{DEPLOY[1]}")
    expect(store.release() == NEXT, "Another release serves.")


def lose_folder(store: Store) -> None:
    """The link names a folder that is missing, and the way back."""
    with store.calling():
        store.run("ln -sfn petstore-missing /opt/petstore; ! systemctl restart petstore; sleep 5")
        store.run(f"VERSION={NEXT}\n{DEPLOY[1]}")
    expect(store.release() == NEXT, "Another release serves.")


def run_jobs(store: Store) -> None:
    """The timers, with those of docs/backup.md: each job once."""
    folders, archive, timers = blocks("PostgreSQL", (ROOT / "docs/backup.md").read_text())
    store.guide(f"{folders}{ALLOW_BACKUPS}{archive}{timers}")
    for timer in store.run("cd /etc/systemd/system; ls petstore-*.timer").split():
        with timed(f"{timer}: its job"):
            store.run(f"systemctl is-active {timer}; systemctl start {timer.removesuffix('.timer')}.service")


def stop(store: Store) -> None:
    """`systemctl stop petstore.socket petstore`, and start."""
    with timed("stopped"):
        store.run("systemctl stop petstore.socket petstore")
    left = store.run(
        "find /proc -maxdepth 1 -user petstore; curl --silent http://127.0.0.1:8000/livez || echo status $?"
    )
    expect(left == "status 7\n", f"Something is left:\n{left}")
    with timed("started"):
        store.run("systemctl start petstore.socket petstore")
        expect(store.release() == NEXT, "Another release serves.")


def lose_power(store: Store) -> None:
    """The power is cut under load, and it boots; a job whose time has passed meanwhile runs."""
    store.run("touch --date='8 days ago' /var/lib/systemd/timers/stamp-petstore-restore-drill.timer")
    callers = store.callers(plain(8000))
    with callers.trying():
        time.sleep(3)
        store.cut_power()
    say(f"responses: {dict(callers.responses)}")
    with timed("until it serves again"):
        store.turn_on()
        expect(store.release() == NEXT, "Another release serves.")
    acknowledged = sum(each.responses["POST 201"] for each in store.called)
    unknown = sum(
        callers.responses[name] for name in callers.responses if name.startswith("POST") and name != "POST 201"
    )
    found = store.animals()
    say(f"animals: {acknowledged:,} acknowledged, {unknown} not known, {found:,} found")
    expect(acknowledged <= found <= acknowledged + unknown, "Animals are lost or doubled.")
    with timed("the restore drill that was missed"):
        wait_until(lambda: "Finished petstore-restore-drill" in store.run(DRILLED))


def alternate(store: Store) -> None:
    """Two instances behind nginx, restarted in turn, twice."""
    store.guide(SECOND)
    [commands] = blocks("Restart an instance", (ROOT / "docs/nginx.md").read_text())
    callers = store.callers(encrypted(443))
    with callers.calling():
        for name, port in [("petstore", "8000"), ("petstore-2", "8001")] * 2:
            store.run(commands.replace("restart petstore", f"restart {name}").replace("8000", port))
    expect(max(callers.seconds) < WAIT_SECONDS, "Callers waited.")


STEPS: tuple[Callable[[Store], None], ...] = (
    upgrade, restart, kill_worker, kill_master, deploy, deploy_broken, lose_folder, run_jobs, stop, lose_power, alternate,
)  # fmt: skip


def main() -> int:
    """Run them one after the other, and return the exit status. On SIGTERM they clean up first.

    The store begins with the release that is named, or with 1.6.0.
    """
    old = sys.argv[1] if len(sys.argv) > 1 else "1.6.0"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    repository = releases(FOLDER / "repository", FIRST, NEXT, BROKEN, broken=BROKEN, tagged=old)
    with Store(wheels=wheels(old), repository=repository) as store:
        install(store, old)
        return 1 if sum([_fails(step, store) for step in STEPS]) else 0


def _fails(step: Callable[[Store], None], store: Store) -> bool:
    """Run it, and say how long it took, or what was not as promised."""
    say(f"== {step.__doc__}")
    try:
        with timed("done"):
            step(store)
    except (CommandError, RehearsalError, TimeoutError) as broken:
        say(f"**BROKEN** {broken}")
        return True
    return False


if __name__ == "__main__":
    raise SystemExit(main())

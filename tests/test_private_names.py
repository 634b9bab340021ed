"""The private names of libraries that we use: each must be in the installed version.

If one is missing after an update, read what the library does now, change the code that uses it, and correct this list.
"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.server import ROOT

GUNICORN = {
    "gunicorn.asgi.protocol:ASGIProtocol": {
        "_arm_keepalive_timer", "_body_receiver", "_callback_parser", "_close_transport", "_closed",
        "_feed_callback_parser", "_flow_control", "_is_websocket_upgrade", "_keepalive_timeout", "_on_headers_complete",
        "_pause_reading", "_resume_reading", "_safe_write", "_send_error_response", "_will_close",
        "req_count", "transport", "worker",
    },
    "gunicorn.asgi.protocol:BodyReceiver": {"_body_wait_expired", "_complete", "_wake_waiter"},
    "gunicorn.asgi.protocol": {"PythonProtocol"},
    "gunicorn.asgi.parser:PythonProtocol": {
        "_finalize_headers", "_headers_list", "feed", "headers", "http_version", "is_complete", "method", "path",
        "remaining",
    },
    "gunicorn.workers.gasgi": {"ASGIProtocol"},
    "gunicorn.workers.gasgi:ASGIWorker": {
        "_serve", "_shutdown", "handle_exit_signal", "init_signals", "loop", "nr", "worker_connections",
    },
    "gunicorn.workers.base:Worker": {"booted", "cfg", "init_process", "max_requests", "notify", "run"},
    "gunicorn.arbiter:Arbiter": {"WORKERS", "WORKER_BOOT_ERROR", "app", "handle_hup", "setup"},
}  # fmt: skip
"""What `server/` uses: private names, and others that gunicorn does not document."""

PSYCOPG = {
    "psycopg.generators": {"execute", "fetch_many"},
    "psycopg.waiting": {"Ready", "Wait"},
    "psycopg.adapt:Transformer": {"dump_sequence", "load_rows", "set_pgresult"},
    "psycopg.errors": {"error_from_result"},
    "psycopg:AsyncConnection": {"wait"},
    "psycopg.pq:PGconn": {
        "enter_pipeline_mode", "exit_pipeline_mode", "pipeline_sync", "send_describe_prepared", "send_prepare",
        "send_query", "send_query_params", "send_query_prepared", "socket", "status",
    },
}  # fmt: skip
"""What `petstore_site/door/listening.py` uses of what psycopg's documents leave out."""

DJANGO = {
    "django.db.backends.base.base:BaseDatabaseWrapper": {"_commit", "_prepare_cursor"},
    "django.contrib.admin:ModelAdmin": {"_get_obj_does_not_exist_redirect"},
}
"""What `database/postgresql/`, `database/statements.py` and `history/admin.py` use."""

USED = [
    (owner, name) for owners in (GUNICORN, PSYCOPG, DJANGO) for owner, names in owners.items() for name in sorted(names)
]


@pytest.mark.parametrize(("owner", "name"), USED)
def test_it_is_in_the_installed_version(owner: str, name: str) -> None:
    library = owner.partition(".")[0].partition(":")[0]
    assert has(found(owner), name), (
        f"{library} {version(library)} has no {name} in {owner}. Read what it does now, change the code that uses it, "
        "and correct the list in tests/test_private_names.py."
    )


def found(owner: str) -> Any:
    module, _, name = owner.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def has(owner: Any, name: str) -> bool:
    """Return whether it has the name, or sets it when it is made."""
    return hasattr(owner, name) or any(name in each.__code__.co_names for each in made_by(owner))


def made_by(owner: Any) -> Iterator[Any]:
    """Yield what makes it and is written in Python."""
    makers = (getattr(each, name, None) for each in getattr(owner, "__mro__", ()) for name in ("__init__", "setup"))
    return (each for each in makers if hasattr(each, "__code__"))


def test_every_private_name_of_gunicorn_is_listed() -> None:
    listed = {name for names in GUNICORN.values() for name in names}
    used = {name for file in (ROOT / "server").glob("*.py") for name in private_names(file)}
    assert {name for name in used - listed if not name.startswith("__")} == set()
    assert {name for name in listed if name.startswith("_")} <= used, "what is no longer used is no longer listed"


def private_names(file: Path) -> set[str]:
    """Return the private names that the file uses and does not define, and those of gunicorn that it defines again."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = {target.attr for node in ast.walk(tree) for target in targets(node) if isinstance(target, ast.Attribute)}
    annotated = {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    plain = {target.id for node in ast.walk(tree) for target in targets(node) if isinstance(target, ast.Name)}
    theirs = {name for owners in GUNICORN for name in dir(found(owners))} | set(GUNICORN_INSTANCE_NAMES)
    ours = (defined | assigned | annotated | plain) - theirs
    return {name for name in names | (defined & theirs) if name.startswith("_")} - ours - {"_exit"}  # Python's


def targets(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns to."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


GUNICORN_INSTANCE_NAMES = [
    name
    for owner in GUNICORN
    for each in made_by(found(owner))
    for name in each.__code__.co_names
    if name.startswith("_")
]


@pytest.mark.parametrize("library", ["gunicorn", "uvloop", "psycopg"])
def test_the_version_is_pinned(library: str) -> None:
    """A newer version is taken on purpose, with this file."""
    pins = re.findall(rf"^{library}(?:\[[\w,]+\])?(.*)$", (ROOT / "requirements" / "base.in").read_text(), re.MULTILINE)
    assert pins == [f"=={version(library)}"]

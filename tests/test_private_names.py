"""The private names of libraries that we use: each must be in the installed version.

If one is missing after an update, read what the library does now, change the code that uses it, and correct this list.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import pytest

from tests.server import ROOT

SERVER = {
    "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol": {
        "cycle", "expect_100_continue", "flow", "headers", "on_response_complete", "parser", "scope", "shutdown",
        "timeout_keep_alive_handler", "url",
    },
    "uvicorn.protocols.http.httptools_impl:RequestResponseCycle": {
        "keep_alive", "message_event", "transport",
    },
    "uvicorn_worker:UvicornWorker": {"_serve"},
    "gunicorn.workers.base:Worker": {"alive", "notify", "run", "sockets"},
    "gunicorn.arbiter:Arbiter": {"WORKERS"},
}  # fmt: skip
"""What `server/` uses: private names, and others that uvicorn and gunicorn do not document."""

PSYCOPG = {
    "psycopg.adapt:Transformer": {"dump_sequence", "load_rows", "set_pgresult"},
    "psycopg.errors": {"error_from_result"},
    "psycopg.pq:PGconn": {
        "send_describe_prepared", "send_prepare",
        "send_query_params", "send_query_prepared",
    },
}  # fmt: skip
"""What `petstore_site/serving/postgresql.py` uses of what psycopg's documents leave out."""

OTHERS = {
    "django.db.backends.base.base:BaseDatabaseWrapper": {"_commit", "_prepare_cursor"},
    "django.contrib.admin:ModelAdmin": {"_get_obj_does_not_exist_redirect"},
    "django.core.handlers.wsgi:WSGIRequest": {"_set_content_type_params"},
    "allauth.account.adapter:DefaultAccountAdapter": {"_get_login_attempts_cache_key", "_login_failed_rl_usage"},
    "allauth.core.internal.ratelimit": {"consume", "get_ip"},
}
"""What the rest uses."""

DOCUMENTED = {"_change_reason", "_etcd3", "_meta", "_srcfile"}
"""Private by their form alone: of simple-history, of Patroni's own machines (deploy/ha), of Django, of logging."""

USED = [
    (owner, name) for owners in (SERVER, PSYCOPG, OTHERS) for owner, names in owners.items() for name in sorted(names)
]


@pytest.mark.parametrize(("owner", "name"), USED)
def test_it_is_in_the_installed_version(owner: str, name: str) -> None:
    assert has(found(owner), name), (
        f"{installed(owner)} has no {name} in {owner}. Read what it does now, change the code that uses it, "
        "and correct the list in tests/test_private_names.py."
    )


def installed(owner: str) -> str:
    library = re.split("[.:]", owner)[0]
    return " ".join([library, *map(version, packages_distributions().get(library, []))])  # nothing for Python's own


def found(owner: str) -> Any:
    module, _, name = owner.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def has(owner: Any, name: str) -> bool:
    """Return whether it has the name, or sets it when it is made."""
    return hasattr(owner, name) or any(name in each.__code__.co_names for each in made_by(owner))


def made_by(owner: Any) -> Iterator[Any]:
    """Yield what makes it and is written in Python."""
    makers = (
        getattr(each, name, None)
        for each in getattr(owner, "__mro__", ())
        for name in ("__init__", "setup", "load_wsgi", "on_message_begin", "pre_authenticate")
    )
    return (each for each in makers if hasattr(each, "__code__"))


def test_every_private_name_of_the_server_is_listed() -> None:
    """Those that it sets or defines are its own."""
    lines = [line for file in (ROOT / "server").glob("*.py") for line in file.read_text().splitlines()]
    used = {name for line in lines for name in re.findall(r"\.(_[a-z]\w+)", line)}
    set_or_defined = [line.rpartition(" = ")[0] or line.partition("def ")[2] for line in lines]
    own = {name for text in set_or_defined for name in re.findall(r"\b_[a-z]\w+", text)}
    assert used - own - {"_exit"} == set()  # Python's


def test_every_private_name_elsewhere_is_listed() -> None:
    listed = DOCUMENTED | {name for names in OTHERS.values() for name in names}
    lines = [line for file in product_files() for line in file.read_text(encoding="utf-8").splitlines()]
    used = {name for line in lines if "noqa: SLF001" in line for name in re.findall(r"(?<!self)\.(_[a-z]\w+)", line)}
    assert used - listed == set()
    assert used >= DOCUMENTED, "what is no longer used is no longer listed"


def test_every_private_hook_that_is_overridden_is_listed() -> None:
    listed = {name for owners in (SERVER, OTHERS) for names in owners.values() for name in names}
    packages = {file.parent for file in ROOT.glob("*/__init__.py")}
    files = [file for file in product_files() if packages.intersection(file.parents)]
    files += [ROOT / "server" / name for name in ("guard.py", "worker.py")]
    overridden = {hook for file in files for hook in hooks(file)}
    assert overridden - listed == set()
    assert overridden >= {"_commit", "_serve"}


def hooks(file: Path) -> Iterator[str]:
    """Yield the private methods of a library that classes of the file override."""
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    for each in vars(module).values():
        if isinstance(each, type) and each.__module__ == module.__name__:
            libraries = [
                other for other in each.__mro__[1:] if not (ROOT / other.__module__.partition(".")[0]).is_dir()
            ]
            for name, method in vars(each).items():
                is_private = name[0] == "_" != name[-1] and getattr(method, "__module__", "") == module.__name__
                if is_private and any(name in vars(other) for other in libraries):
                    yield name


def product_files() -> Iterator[Path]:
    """Yield the code of the service."""
    outside = {"tests", "lab", "clients", "server"}
    folders = [each for each in ROOT.iterdir() if each.is_dir() and each.name not in outside and each.name[0] != "."]
    return (file for folder in folders for file in folder.rglob("*.py"))


@pytest.mark.parametrize("library", ["gunicorn", "httptools", "psycopg", "uvicorn", "uvicorn-worker", "uvloop"])
def test_the_version_is_pinned(library: str) -> None:
    """A newer version is taken on purpose, with this file."""
    pins = re.findall(
        rf"^{library}(?:\[[\w,]+\])?(=.*)$", (ROOT / "requirements" / "base.in").read_text(), re.MULTILINE
    )
    assert pins == [f"=={version(library)}"]

"""A wrong setting stops the start with a sentence that names the variable and its valid values."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.urls import get_resolver

from petstore_site.configuration.addresses import OWN_PATHS, api_address, base_path
from petstore_site.configuration.env import Env, Variable
from petstore_site.configuration.secret_key import development_key

ROOT = Path(__file__).resolve().parent.parent
PRODUCTION = {
    "PETSTORE_ENVIRONMENT": "production",
    "SECRET_KEY": "a-secret-key-of-more-than-fifty-characters-0123456789-abcdef",
    "ALLOWED_HOSTS": "petstore.example",
    "DATABASE_URL": "postgres://petstore:hunter2@127.0.0.1:1/petstore",
    "CACHE_URL": "redis://127.0.0.1:6379/0",
}
SHOW = (
    "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'petstore_site.settings'\n"
    "from django.conf import settings; print({})"
)


def start(
    variables: dict[str, str], expression: str = "(settings.DEBUG, 'started')[1]"
) -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of its own and print the expression."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", SHOW.format(expression)],
        cwd=ROOT, env=kept | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


ADDRESSES = {"PRODUCTION_URL": "https://shop.example/animals/v1", "STAGING_URL": "https://h/try/animals/v1"}
EXPOSED = (
    "API-Key-Expiration", "Changes-Delayed-Since", "Deprecation", "ETag", "Idempotency-Replayed", "Link", "Location",
    "RateLimit", "RateLimit-Policy", "Request-Outcome", "Retry-After", "Sunset", "WWW-Authenticate", "X-Request-ID",
)  # fmt: skip


def under(base: str) -> dict[str, Any]:
    """Return the settings of a service that lives under this path."""
    return {
        "BASE_PATH": base,
        "STATIC_URL": f"{base}/static/",
        "SESSION_COOKIE_PATH": f"{base}/",
        "CSRF_COOKIE_PATH": f"{base}/",
    }


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {},
            {"API_KEY_PREFIX": "pets_test_", "REQUIRE_STAFF_MFA": False, "ALLAUTH_TRUSTED_PROXY_COUNT": 0}
            | {"SECURE_HSTS_SECONDS": 0, "CSRF_COOKIE_SECURE": False, "SESSION_COOKIE_SECURE": False},
        ),
        (
            PRODUCTION,
            {"API_KEY_PREFIX": "pets_live_", "REQUIRE_STAFF_MFA": True, "ALLAUTH_TRUSTED_PROXY_COUNT": 1}
            | {"SECURE_HSTS_SECONDS": 31_536_000, "CSRF_COOKIE_SECURE": True, "SESSION_COOKIE_SECURE": True}
            | {"SECURE_HSTS_INCLUDE_SUBDOMAINS": True, "SECURE_HSTS_PRELOAD": False, "SECURE_SSL_REDIRECT": True}
            | {"CSRF_COOKIE_HTTPONLY": True, "DEBUG": False, "CORS_EXPOSE_HEADERS": [*EXPOSED]},
        ),
        (
            PRODUCTION | {"PETSTORE_ENVIRONMENT": "staging"},
            {"API_KEY_PREFIX": "pets_test_", "REQUIRE_STAFF_MFA": False},
        ),
        (PRODUCTION | {"PETSTORE_ENVIRONMENT": "development"}, {"API_KEY_PREFIX": "pets_test_"}),
        (PRODUCTION | {"REQUIRE_STAFF_MFA": "false"}, {"REQUIRE_STAFF_MFA": False}),
        (PRODUCTION | {"REQUIRE_STAFF_MFA": "0"}, {"REQUIRE_STAFF_MFA": False}),
        (PRODUCTION | {"REQUIRE_STAFF_MFA": "  "}, {"REQUIRE_STAFF_MFA": True}),
        ({"REQUIRE_STAFF_MFA": "1"}, {"REQUIRE_STAFF_MFA": True}),
        ({"REQUIRE_STAFF_MFA": "true"}, {"REQUIRE_STAFF_MFA": True}),
        (PRODUCTION | {"BEHIND_TLS_PROXY": "false"}, {"ALLAUTH_TRUSTED_PROXY_COUNT": 0}),
        ({"BEHIND_TLS_PROXY": "true"}, {"ALLAUTH_TRUSTED_PROXY_COUNT": 1}),
        (PRODUCTION | ADDRESSES, under("/animals")),
        (PRODUCTION | ADDRESSES | {"PETSTORE_ENVIRONMENT": "staging"}, under("/try/animals")),
        (ADDRESSES, under("/animals")),
    ],
)
def test_what_the_environment_decides(variables: dict[str, str], expected: dict[str, Any]) -> None:
    """Only a proxy is believed about addresses, and only production is for browsers that use TLS."""
    shown = f"__import__('json').dumps({{name: getattr(settings, name) for name in {[*expected]}}})"
    assert json.loads(start(variables, shown).stdout) == expected


def test_the_two_servers_of_the_description_come_from_the_settings() -> None:
    shown = start(ADDRESSES, "[server['url'] for server in settings.SPECTACULAR_SETTINGS['SERVERS']]")
    assert shown.stdout == f"{[*ADDRESSES.values()]}\n"


def test_the_host_to_listen_on_is_allowed_in_development() -> None:
    assert "pets.local" in start({"HOST": "pets.local"}, "settings.ALLOWED_HOSTS").stdout


def mistakes(variables: dict[str, str]) -> list[str]:
    """Return the mistakes that stop the start."""
    with mock.patch.dict(os.environ, variables, clear=True), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "petstore_site" / "settings.py"))
    first, *lines = str(ended.value).splitlines()
    assert first == "The service cannot start. Fix these settings:"
    return [line.removeprefix("  - ") for line in lines]


def test_a_mistake_ends_the_start() -> None:
    ended = start({"THREADS": "0"})
    sentence = "The service cannot start. Fix these settings:\n  - THREADS: must be a whole number from 1 to 64.\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", sentence)


@pytest.mark.parametrize("environment", ["production", "staging"])
def test_everything_that_is_missing_at_once(environment: str) -> None:
    assert mistakes({"PETSTORE_ENVIRONMENT": environment}) == [
        f"SECRET_KEY: is required in {environment}: 50 or more random characters, or SECRET_KEY_FILE, the path of a file "
        "with them.",
        f"ALLOWED_HOSTS: is required in {environment}: the host names of this service, separated by commas.",
        f"DATABASE_URL: is required in {environment}: postgres://USER:PASSWORD@HOST:5432/NAME, or sqlite:////path for "
        "a small store.",
    ]


DATABASE_FORMS = (
    "DATABASE_URL: must be sqlite:///relative/path, sqlite:////absolute/path or "
    "postgres://USER:PASSWORD@HOST:5432/NAME[?sslmode=…]."
)
CACHE_FORMS = (
    "CACHE_URL: must be memory://, redis://[:PASSWORD@]HOST:6379/0, or the same with rediss, valkey or valkeys."
)
ADDRESS = "must be an http or https address such as https://petstore.example/v1 or https://shop.example/animals/v1."


def taken(part: str) -> str:
    return f"must not have {part} in its path before /v1: the service has an address of this name."


ORIGINS = "must be origins such as https://shop.example, separated by commas."


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PETSTORE_ENVIRONMENT": "prod"}, "PETSTORE_ENVIRONMENT: must be one of production, staging, development."),
        *[
            ({name: text}, f"{name}: must have 50 or more random characters.")
            for name in ("SECRET_KEY", "SECRET_KEY_FALLBACKS")
            for text in ("hunter2", "x" * 60)
        ],
        *[
            ({name: "/nowhere"}, f"{name}: must be the path of a readable UTF-8 file.")
            for name in ("SECRET_KEY_FILE", "SECRET_KEY_FALLBACKS_FILE")
        ],
        *[
            ({"DATABASE_URL": url}, DATABASE_FORMS)
            for url in (
                "mysql://u:hunter2@h/db", "postgres://u:hunter2@h", "postgres://u:hunter2@h:port/db", "nonsense",
                "postgres://u:hunter2@h/db?nonsense=1", "postgres://u:word@hunter2@h/db", "postgres://u:word/hunter2@h/db", "sqlite://", "sqlite:///", "sqlite://file.db", "sqlite:///a?b=1",
            )
        ],
        *[
            ({name: "postgres://u:hunter2@h/db"}, f"{name}: is gone. Remove it: no standby is read, and clients retry until Patroni has promoted one.")
            for name in ("DATABASE_STANDBY_URL", "DATABASE_STANDBY_URL_FILE")
        ],
        *[
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": url}, "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https address, such as http://collector:4318.")
            for url in ("collector:4318", "grpc://collector:4317")
        ],
        *[
            ({"SECURITY_CONTACT": text}, "SECURITY_CONTACT: must be an address such as mailto:security@petstore.example, or of a page with https.")
            for text in ("security@petstore.example", "http://petstore.example/security", "mailto:a@b\nExpires: never", "https://a b")
        ],
        *[
            ({"CACHE_URL": url}, CACHE_FORMS)
            for url in ("memcached://hunter2@h", "memory://x", "redis:127.0.0.1", "redis://h:abc/0", "redis://h/abc", "redis://h/0?a=b", "redis://:hunter2@h\u2100/0", "rediss+sentinel://h:1/s")
        ],
        (
            {"CACHE_URL": "redis+sentinel://:hunter2@h:26379,i:26379/petstore"},
            "CACHE_URL: cannot name Sentinels any more. Name a proxy that leads to the master (docs/databases.md#redis).",
        ),
        *[
            ({"THREADS": text}, "THREADS: must be a whole number from 1 to 64.")
            for text in ("many", "0", "65", "-1", "1.5", "٣", "9" * 5000)
        ],
        *[
            ({"ALLOWED_HOSTS": text}, "ALLOWED_HOSTS: must be host names such as petstore.example, without scheme and port, separated by commas.")
            for text in ("https://petstore.example", "petstore.example:8000", "petstore.example/v1", "a.example b.example", ",")
        ],
        (PRODUCTION | {"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS: must name the hosts; * is not allowed in production."),
        ({"METRICS_PORT": "8000"}, "METRICS_PORT: must differ from PORT, because metrics are not public."),
        ({"WEB_CONCURRENCY": "0"}, "WEB_CONCURRENCY: must be a whole number from 1 to 256."),
        ({"PRODUCTION_URL": "https://:hunter2@h\u2100/v1"}, f"PRODUCTION_URL: {ADDRESS}"),
        *[
            ({"RATE_LIMIT": text}, "RATE_LIMIT: must be N/s, N/min, N/h or N/day with N from 1 to 1000000, as in 600/min.")
            for text in ("fast", "0/min")
        ],
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL: must be one of DEBUG, INFO, WARNING, ERROR."),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT: must be one of json, text."),
        ({"DATABASE_BEHIND_PGBOUNCER": "perhaps"}, "DATABASE_BEHIND_PGBOUNCER: must be true or false."),
        ({"PRODUCTION_URL": "petstore.example"}, f"PRODUCTION_URL: {ADDRESS}"),
        ({"STAGING_URL": "https://petstore.example/v2"}, f"STAGING_URL: {ADDRESS}"),
        ({"PRODUCTION_URL": "https://petstore.example/docs/v1"}, f"PRODUCTION_URL: {taken('docs')}"),
        *[
            ({"CORS_ALLOWED_ORIGINS": text}, "CORS_ALLOWED_ORIGINS: must be whole origins such as https://shop.example, without *, separated by commas.")
            for text in ("*", "https://*.a.example")
        ],
        *[
            ({name: text}, f"{name}: {ORIGINS}")
            for name in ("CORS_ALLOWED_ORIGINS", "CSRF_TRUSTED_ORIGINS")
            for text in ("a.example", "https://a.example/", "https://hunter2@a.example", "https://a.example:x")
        ],
        *[
            ({name: text}, f"{name}: must be an IP address such as 0.0.0.0 or ::1, or a host name, without scheme, brackets and port.")
            for name in ("HOST", "METRICS_HOST")
            for text in ("http://a.example", "[::1]", "127.0.0.1:80", "a b")
        ],
    ],
    ids=str,
)  # fmt: skip
def test_each_mistake_has_its_sentence(variables: dict[str, str], expected: str) -> None:
    shown = mistakes(variables)
    assert shown == [expected]
    assert "hunter2" not in "".join(shown)


@pytest.mark.parametrize(
    "url",
    [
        "https://h/v2", "https://h", "https://h/v1/", "https://h/animals", "https://h//v1", "https://h/a//v1", "https://h/../v1",
        "https://h/a/./v1", "https://h/a%2Fb/v1", "https://h/a b/v1", "https://h/ä/v1", "https://h/.a/v1", "https://h/a;b/v1",
        "https://h/a\t/v1", "https://h/v1?a=b", "https://h/v1?", "https://h/v1#a", "https://hunter2@h/v1", "ftp://h/v1",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_served(url: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(ADDRESS)}$"):
        api_address(url)


@pytest.mark.parametrize("part", sorted(OWN_PATHS - {".well-known"}))  # with its point, it is no path anyway
@pytest.mark.parametrize("path", ["{}", "a/{}", "{}/b"])
def test_a_path_that_has_an_address_of_the_service(part: str, path: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(taken(part))}$"):
        api_address(f"https://h/{path.format(part)}/v1")


@pytest.mark.parametrize("path", ["", "/animals", "/a/b-c/D_e~f.g/9", "/documents", "/v2"])
def test_an_address_that_can_be_served(path: str) -> None:
    assert base_path(api_address(f"http://h:8080{path}/v1")) == path


def test_no_path_of_the_service_can_be_the_one_it_lives_under() -> None:
    patterns = [
        inner
        for one in get_resolver().url_patterns
        for inner in ([one] if str(one.pattern) else one.url_patterns)  # type: ignore[union-attr]
    ]
    own = {str(one.pattern).lstrip("^").replace("(?:", "/").partition("/")[0] for one in patterns}
    assert own - {""} | {"static"} == OWN_PATHS


def test_secrets_from_files(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgres://u:from-a-file@h:5433/shop\n")
    variables = {name: value for name, value in PRODUCTION.items() if name != "DATABASE_URL"}
    shown = start(variables | {"DATABASE_URL_FILE": str(file)}, "settings.DATABASES['default']['PASSWORD']")
    assert shown.stdout == "from-a-file\n"
    assert mistakes(PRODUCTION | {"DATABASE_URL_FILE": str(file)})[0] == (
        "DATABASE_URL: set either DATABASE_URL or DATABASE_URL_FILE, not both."
    )


def test_the_development_key_is_made_once_and_kept_private() -> None:
    keys = {start({}, "settings.SECRET_KEY").stdout for _ in range(2)}
    assert len(keys) == 1
    assert (ROOT / "var" / "secret-key").stat().st_mode & 0o077 == 0


def test_a_development_key_of_another_account(tmp_path: Path) -> None:
    """A folder cannot be read either, and root can read every file."""
    file = tmp_path / "secret-key"
    file.mkdir()
    env = Env({}, [Variable("PETSTORE_ENVIRONMENT", str, "development", "")], {})
    assert development_key(env, tmp_path) == ""
    assert env.mistakes == [
        f"SECRET_KEY: is missing, and {file} cannot be used: Is a directory. Use the account that created it."
    ]


@pytest.mark.parametrize(
    ("variables", "warns"), [(PRODUCTION | {"CACHE_URL": "memory://"}, True), (PRODUCTION, False), ({}, False)]
)
def test_limits_counted_in_each_process_are_reported_where_it_matters(variables: dict[str, str], warns: bool) -> None:
    check = [sys.executable, "manage.py", "check"]
    env = {"PATH": os.environ["PATH"]} | variables
    done = subprocess.run(check, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert ("(petstore.W001) CACHE_URL is memory://" in done.stderr) is warns


def test_production_redirects_browsers_to_tls_and_nothing_else() -> None:
    expected = {"/livez": 200, "/readyz": 503, "/v1/pets": 401, "/": 301}
    get = "__import__('django.test').test.Client(headers=dict(host='petstore.example')).get"
    asked = f"__import__('django').setup(), {{path: {get}(path).status_code for path in {[*expected]}}}"
    assert start(PRODUCTION, f"({asked})[1]").stdout == f"{expected}\n"


STATIC_FILES = "The service cannot start without its static files. Run: manage.py collectstatic --no-input"


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (["-c", "import petstore_site.wsgi"], [STATIC_FILES]),
        (["-m", "gunicorn", "--config", "deploy/gunicorn.conf.py"], [STATIC_FILES]),
        (
            ["manage.py", "check"],
            ["SystemCheckError: System check identified some issues:", f"?: (petstore.E001) {STATIC_FILES}"],
        ),
    ],
)
def test_production_does_not_start_without_its_static_files(
    tmp_path: Path, command: list[str], printed: list[str]
) -> None:
    env = {"PATH": os.environ["PATH"], "STATIC_ROOT": str(tmp_path)} | PRODUCTION
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if line in printed]) == (1, printed)
    assert "Booting worker" not in done.stderr

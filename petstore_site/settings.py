"""Django's settings, all from environment variables; docs/settings.md has them as a table.

Every mistake is reported at once and stops the start. Production and staging reject unsafe
settings instead of falling back to a convenient default.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from petstore_site.apikeys.keys import PREFIXES, SECRET
from petstore_site.configuration.addresses import base_path
from petstore_site.configuration.database import databases
from petstore_site.configuration.openapi import openapi_of
from petstore_site.configuration.secret_key import development_key
from petstore_site.configuration.variables import env as environment_variables
from petstore_site.logs import logging_of

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

env = environment_variables()

# --- Where the service runs ---------------------------------------------------------------------

PETSTORE_ENVIRONMENT = env.environment
"""Decides the prefix of keys, the ribbon in the admin, and how strict the settings below are."""

HOSTED = PETSTORE_ENVIRONMENT != "development"
SERVING = os.environ.get("PETSTORE_SERVING") == "true"  # set by wsgi.py, not by people
if not HOSTED:
    VAR_DIR.mkdir(exist_ok=True)

THREADS = env["THREADS"]

SECRET_KEY = env["SECRET_KEY"] or ("" if HOSTED else development_key(env, VAR_DIR))
SECRET_KEY_FALLBACKS = [*env["SECRET_KEY_FALLBACKS"]]

DEBUG = False
"""Never on: every error is an Error for the caller and a traceback in the log."""

HOST = env["HOST"]
ALLOWED_HOSTS = [*env["ALLOWED_HOSTS"]]
if not HOSTED and not ALLOWED_HOSTS:
    ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", HOST]
if HOSTED and "*" in ALLOWED_HOSTS:
    env.reject("ALLOWED_HOSTS", f"must name the hosts; * is not allowed in {PETSTORE_ENVIRONMENT}.")

PRODUCTION_URL = env["PRODUCTION_URL"]
STAGING_URL = env["STAGING_URL"]

BASE_PATH = base_path(STAGING_URL if PETSTORE_ENVIRONMENT == "staging" else PRODUCTION_URL)
"""The path under which the service lives, such as `/animals`; empty for the root. `rest.request.mounted` applies it."""

FORCE_SCRIPT_NAME = BASE_PATH or None

# --- Traces, off by default ---------------------------------------------------------------------

TRACES_URL = env["OTEL_EXPORTER_OTLP_ENDPOINT"]
"""The collector of OpenTelemetry that traces are sent to. Its exporter reads this and other `OTEL_` variables."""

SECURITY_CONTACT = env["SECURITY_CONTACT"]

# --- What the service is made of ----------------------------------------------------------------

INSTALLED_APPS = [
    "petstore_site.apps.PetstoreSiteConfig",
    "petstore_site.apps.PetstoreAdminConfig",
    "files",
    "pets",
    "categories",
    "changes",
    "petstore_site.apikeys",
    "petstore_site.back_office.request_desk",
    "idempotency",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "rest_framework",
    "drf_spectacular",
    "simple_history",
    "corsheaders",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "petstore_site.staff",  # the last: its roles name the permissions of all others
]

CORS_ALLOWED_ORIGINS: list[str] = [*env["CORS_ALLOWED_ORIGINS"]]

MIDDLEWARE = [
    "petstore_site.serving.middleware.ObservingMiddleware",
    "petstore_site.serving.api.APIMiddleware",  # what follows is for pages
    "petstore_site.serving.middleware.CompressionMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "rest.responses.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "petstore_site.serving.middleware.DatabaseErrorMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "petstore_site.staff.middleware.StaffMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "petstore_site.urls"
WSGI_APPLICATION = "petstore_site.wsgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "petstore_site.portal.environment.environment",
                "petstore_site.back_office.navigation.navigation",
            ],
            "libraries": {
                "callers": "petstore_site.back_office.callers",
                "catalogue": "petstore_site.back_office.added",
                "category_rows": "petstore_site.back_office.categories",
                "office": "petstore_site.drawing",
                "request_desk": "petstore_site.back_office.request_desk.story",
            },
        },
    }
]

FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
"""Lets our templates override those of form widgets."""

# --- Data ---------------------------------------------------------------------------------------

DATABASES = databases(env, BASE_DIR, serving=SERVING)

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHE_URL = env["CACHE_URL"]
"""Where rate limits are counted. `memory://` counts in each process by itself."""

CACHES: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if CACHE_URL != "memory://":
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": [CACHE_URL],  # a list, since Django would split the text at commas
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }

SIMPLE_HISTORY_DATE_INDEX = False
"""History is read for one object at a time; an index by date would only slow down writing it."""

SIMPLE_HISTORY_REVERT_DISABLED = True
"""The history is read-only. To go back to an old value, change the animal, so that the change is recorded too."""

ACTOR_NAMES = "petstore_site.back_office.callers.names"
"""What calls keys by their names in a history, for readers who can see keys. The history itself doesn't know keys."""

# --- The API ------------------------------------------------------------------------------------

API_KEY_PREFIX = PREFIXES[PETSTORE_ENVIRONMENT]
SECRET_FORM = SECRET
"""What has this in it is no request ID and no idempotency key: both are stored, and a key never is."""

API_KEY_EXPIRATION_NOTICE = timedelta(days=30)
"""How long before a key expires its responses say so."""

API_KEY_USE_FLUSH_SECONDS = 10.0
"""How often a process saves the use of keys; what it has not saved is lost if it is killed."""

RATE_LIMIT = env["RATE_LIMIT"]
"""The limit of a key that has none of its own, such as `600/min`; empty for no limit."""

API_BODY_LIMIT = 64 * 1024
"""Bytes a request body under /v1 may have."""

LARGEST_UPLOAD = 25 * 1024 * 1024
"""Bytes that a file may have which is imported in the back office."""

IDEMPOTENCY_LIFETIME = timedelta(hours=24)

API_DEPRECATIONS: dict[str, dict[str, Any]] = {
    "pet-detail": {
        "since": datetime(2026, 11, 21, tzinfo=UTC),
        "sunset": datetime(2030, 12, 5, tzinfo=UTC),
        "successor": "pet-list",
    }
}
"""Route name → since when it is deprecated, when it will be removed, which route replaces it."""

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["petstore_site.apikeys.admission.BearerKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["petstore_site.apikeys.admission.MethodIsAllowed"],
    "DEFAULT_THROTTLE_CLASSES": ["petstore_site.apikeys.admission.KeyRateThrottle"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "rest.media_type.JSONOnlyNegotiation",
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],  # for the description: `read_json` reads bodies
    "DEFAULT_RENDERER_CLASSES": ["rest.media_type.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "rest.description.APISchema",
    "EXCEPTION_HANDLER": "rest.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = openapi_of(PRODUCTION_URL, STAGING_URL)

CORS_URLS_REGEX = r"^/v1/"
CORS_ALLOW_METHODS = ["GET", "HEAD", "OPTIONS", "POST"]
CORS_ALLOW_HEADERS = ["authorization", "content-type", "idempotency-key", "if-none-match", "x-request-id"]
CORS_EXPOSE_HEADERS = [
    "API-Key-Expiration", "Changes-Delayed-Since", "Deprecation", "ETag", "Idempotency-Replayed", "Link", "Location",
    "RateLimit", "RateLimit-Policy", "Request-Outcome", "Retry-After", "Sunset", "WWW-Authenticate",
    "X-Request-ID",
]  # fmt: skip

# --- Pages --------------------------------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "admin:index"

STATIC_URL = f"{BASE_PATH}/static/"
STATIC_ROOT = Path(env["STATIC_ROOT"] or BASE_DIR / "staticfiles") if HOSTED else None

STATICFILES_DIRS = [BASE_DIR / "petstore_site" / "static"]
WHITENOISE_USE_FINDERS = not HOSTED  # no collectstatic needed in development
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if HOSTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Security -----------------------------------------------------------------------------------

CSRF_TRUSTED_ORIGINS: list[str] = [*env["CSRF_TRUSTED_ORIGINS"]]
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = HOSTED
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_PATH = SESSION_COOKIE_PATH = f"{BASE_PATH}/"
CSRF_FAILURE_VIEW = "petstore_site.errors.csrf_failure"
BEHIND_TLS_PROXY = env["BEHIND_TLS_PROXY"]
SECURE_SSL_REDIRECT = HOSTED and BEHIND_TLS_PROXY  # without a proxy, we cannot know whether a request used HTTPS
SECURE_REDIRECT_EXEMPT = [rf"^{re.escape(BASE_PATH[1:])}/?(v1(/|$)|(livez|readyz)$)"]  # the API has Errors instead
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS_PROXY else None
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HOSTED else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HOSTED
SILENCED_SYSTEM_CHECKS = ["security.W021"]  # it recommends preloading, which takes months to undo
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

# --- Sign-in of the staff -----------------------------------------------------------------------

REQUIRE_STAFF_MFA = env["REQUIRE_STAFF_MFA"]
"""Whether staff members need a second factor to use the back office."""

SESSION_COOKIE_AGE = 8 * 60 * 60
"""Seconds a session lasts after the sign-in, however much it is used."""

SESSION_IDLE_AGE = 30 * 60
"""Seconds after which an unused session is over."""

AUTHENTICATION_BACKENDS = ["petstore_site.staff.backends.StaffBackend"]
ACCOUNT_ADAPTER = "petstore_site.staff.adapters.AccountAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"  # there is no mail server
ACCOUNT_SESSION_REMEMBER = True  # for as long as a session lasts
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "20/15m/ip,5/15m/key"}
"""Sign-ins a minute from one address; failed ones in 15 minutes from one address, and of one name from one address.

`petstore_site.staff.lockout` counts those of one name from everywhere.
"""

ALLAUTH_TRUSTED_PROXY_COUNT = 1 if BEHIND_TLS_PROXY else 0
"""With a proxy, the last address in `X-Forwarded-For` is the caller's: the proxy put it there. Without, none is."""

MFA_ADAPTER = "petstore_site.staff.adapters.MFAAdapter"
ACCOUNT_FORMS = {"change_password": "petstore_site.staff.forms.OwnPasswordForm"}
MFA_FORMS = {
    "activate_totp": "petstore_site.staff.forms.SetUpAppForm",
    "add_webauthn": "petstore_site.staff.forms.AddPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses are only for people to read
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Pet Store" if PETSTORE_ENVIRONMENT == "production" else f"Pet Store ({PETSTORE_ENVIRONMENT})"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HOSTED  # http://localhost

# --- Logs ---------------------------------------------------------------------------------------

LOG_FORMAT = env["LOG_FORMAT"]
LOG_LEVEL = env["LOG_LEVEL"]
LOGGING = logging_of(LOG_FORMAT, LOG_LEVEL)

# --- Processes, for gunicorn: a mistake must be found by `check`, and stop the start before there are workers ------

PORT = env["PORT"]
WEB_CONCURRENCY = env["WEB_CONCURRENCY"]
METRICS_HOST = env["METRICS_HOST"]
METRICS_PORT = env["METRICS_PORT"]
if METRICS_PORT == PORT:
    env.reject("METRICS_PORT", "must differ from PORT, because metrics are not public.")

env.exit_on_mistakes()

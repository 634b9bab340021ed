"""Settings for production: pooled connections, prepared statements, nothing that the API doesn't need."""

import os

DEBUG = False
SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["lab.benchmarks.peers.shop"]
ROOT_URLCONF = os.environ["SHOP_URLS"]
MIDDLEWARE = ["django.middleware.http.ConditionalGetMiddleware", "django.middleware.common.CommonMiddleware"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "OPTIONS": {"pool": True, "server_side_binding": True, "prepare_threshold": 5},
    }
}
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}

#!/usr/bin/env python3
"""The operator's entrance: `manage.py COMMAND`."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import Error as AnyDatabaseError

from petstore_site.configuration.database import sentence

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petstore_site.settings")
    try:
        execute_from_command_line(sys.argv)
    except AnyDatabaseError as error:
        sys.exit(sentence(error))

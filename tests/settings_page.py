"""`make settings`: write docs/settings.md from the list of environment variables."""

import sys

from petstore_site.configuration.env import ByEnvironment, Variable
from petstore_site.configuration.variables import GROUPS

HEAD = """\
# Settings

For operators. All settings are environment variables. If one is wrong, the service doesn't start, and lists all
mistakes. In production and staging, `SECRET_KEY`, `ALLOWED_HOSTS` and `DATABASE_URL` are required.

For a setting marked ƒ, you can set `NAME_FILE` instead of `NAME`: the path of a file with the value.

<!-- Written by `make settings` from petstore_site/configuration/variables.py. Change that file. -->
"""


def page() -> str:
    """Return docs/settings.md."""
    return HEAD + "".join(_table(title, variables) for title, variables in GROUPS.items())


def _table(title: str, variables: list[Variable]) -> str:
    rows = [f"| `{one.name}`{' ƒ' if one.is_secret else ''} | {_default(one)} | {one.meaning} |" for one in variables]
    return "\n".join([f"\n## {title}\n", "| variable | default | meaning |", "| --- | --- | --- |", *rows, ""])


def _default(variable: Variable) -> str:
    default = variable.default
    if variable.shown or default in ("", (), None):
        return variable.shown or "none"
    if not isinstance(default, ByEnvironment):
        return _code(default)
    if default.staging == default.production:
        return f"{_code(default.production)}, in development {_code(default.development)}"
    return f"{_code(default.production)} in production"


def _code(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.stdout.write(page())

"""`manage.py print_sizing`: pools, connections, memory and cores for several numbers of instances."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from commands.arguments import count
from commands.base import StoreCommand
from petstore_site.configuration.sizing import Sizes, configured

HEADINGS = {
    "instances": "instances",
    "connections": "connections to PostgreSQL",
    "max_connections": "`max_connections`",
    "service_cores": "cores of the service",
    "service_mb": "memory per instance",
    "database_cores": "cores of the database",
    "database_mb": "memory of the database",
}


class Command(StoreCommand):
    help = "Print what the service needs with these settings, for 1, 3 and 10 instances."
    examples = ("", "--instances 2 4")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--instances", type=count, nargs="+", default=[1, 3, 10], metavar="N", help="How many; default: 1 3 10."
        )

    def handle(self, **options: Any) -> None:
        table, shares = zip(*map(configured, options["instances"]), strict=True)
        self.show(_markdown(table, shares[0]), [each._asdict() | {"pools": shares[0]} for each in table])


def _markdown(table: Sequence[Sizes], shares: Mapping[str, int]) -> str:
    first = table[0]
    listed = ", ".join(f"{name} {number}" for name, number in shares.items())
    rows = [
        list(HEADINGS.values()),
        ["---:"] * len(HEADINGS),
        *([_cell(each, name) for name in HEADINGS] for each in table),
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        f"Each instance has {first.workers} workers with {first.threads} threads. "
        f"Each worker opens up to {sum(shares.values())} connections: {listed}.\n\n{lines}\n\n"
        "Memory and cores of the database are estimates. `max_connections` has room for a restart and for commands."
    )


def _cell(each: Sizes, name: str) -> str:
    value: int = getattr(each, name)
    return f"{value / 1024:.1f} GB" if name.endswith("_mb") else f"{value:,}"

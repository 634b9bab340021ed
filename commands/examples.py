"""Examples below the help of a command."""

from collections.abc import Iterable

from django.core.management.base import CommandParser, DjangoHelpFormatter


class _Formatter(DjangoHelpFormatter):
    """Keeps the lines of the examples; argparse would join them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:\n") else super()._fill_text(text, width, indent)


def add_examples(parser: CommandParser, examples: Iterable[str]) -> CommandParser:
    """Return the parser with examples: what follows the name of the command."""
    lines = (f"  {parser.prog} {arguments}".rstrip() for arguments in examples)
    parser.epilog, parser.formatter_class = "\n".join(["examples:", *lines]), _Formatter
    return parser

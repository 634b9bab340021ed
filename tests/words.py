"""Report the words that the house style avoids: `make lint` runs it.

Reads what people read: documents, templates and other text files, and the comments, docstrings and sentences
of Python files. Names and `code` in documents are left alone.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

AVOIDED = {
    r"anew": "again",
    r"mend(s|ed|ing)?": "fix, correct",
    r"(take|takes|took|taken|taking) (\w+ )?back|take-back": "undo",
    r"blot(s|ted|ting)? out": "redact",
    r"may not": "cannot, must not",
    r"whoever|those who|who may": "you, or name the person",
    r"somebody|nobody else": "someone, no one else",
    r"(come|comes|came|coming) (amid|before with|of it)": "use, call, happen",
    r"(go|goes|went|going) by": "use",
    r"stands?|stood": "is, comes",
    r"tells?|told|telling": "show, list, report",
    r"refus(e|es|ed|ing|al|als)": "reject, not allowed",
    r"answer(s|ed|ing)?": "response, respond",
    r"(?<!staff )members?(?! (of (the )?staff|list|add|remove)\b)": "field",
    r"faults?": "error",
    r"troubles?": "database error, problem",
    r"slips?": "typo",
    r"holes?": "vulnerability, gap",
    r"heed(s|ed|ing)?|unheard|roomy": "a plain word",
    r"(number|name) of (a|the|this) request": "request ID",
    r"all the same|in place of|as long as one": "a plain word",
    r"(is|are|was|were) to be": "must be, will be",
    r"amid|for ever|what became of|without a word": "during, forever, the result of, silently",
    r"whatever hangs|who comes|is what it has|by turns": "a plain word",
}
"""A pattern → what to write in its place. The table of the house style, without words that have an everyday use."""

READ = {".conf", ".html", ".http", ".in", ".md", ".py", ".toml", ".txt", ""}
EXCEPT = {
    "docs/interface.md": "the contract is quoted as it was given",
    "docs/released/": "what was published does not change",
    "lab/benchmarks/results/": "figures, as they were printed",
    "requirements/*.txt": "written by `make lock`",
    "lab/requirements/*.txt": "written by `make -C lab lock`",
    "petstore_site/static/petstore/fonts/": "licences, as they were given",
    "tests/words.py": "this list",
}
"""A file, folder or pattern that is not read, and why."""

PATTERN = re.compile("|".join(rf"\b(?P<w{number}>{word})\b" for number, word in enumerate(AVOIDED)), re.IGNORECASE)
CODE = re.compile(r"`[^`]*`|https?://\S+|\{[^{}]*\}")
"""What is no prose within it: code, addresses, the fields of a format."""


class Found(NamedTuple):
    """One avoided word."""

    path: str
    line: int
    word: str
    instead: str


def files() -> Iterator[Path]:
    """Yield the files of the repository that people read."""
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        excepted = any(name.startswith(each) or Path(name).match(each) for each in EXCEPT)
        if Path(name).suffix in READ and not excepted and Path(name).is_file():
            yield Path(name)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines of what is prose in the file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name == "COMMENT" or (name in {"STRING", "FSTRING_MIDDLE"} and " " in token.string):
            yield from enumerate(token.string.splitlines(), token.start[0])


def findings(path: Path) -> Iterator[Found]:
    """Yield the avoided words in the file."""
    for number, line in prose(path):
        for match in PATTERN.finditer(CODE.sub("", line)):
            instead = list(AVOIDED.values())[int(str(match.lastgroup)[1:])]
            yield Found(str(path), number, match[0], instead)


def main() -> int:
    """Print each avoided word, then how many there are in each folder; return 1 if there is one."""
    found = [each for path in files() for each in findings(path)]
    lines = [f'{each.path}:{each.line}: "{each.word}", write: {each.instead}' for each in found]
    folders = Counter(str(Path(each.path).parent) for each in found)
    lines += [f"{number:6,}  {folder}" for folder, number in folders.most_common()]
    sys.stdout.write("\n".join([*lines, f"{len(found):6,}  words to avoid"]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())

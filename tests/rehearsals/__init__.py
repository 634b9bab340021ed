"""The operator's book (docs/operators-book.md), chapter by chapter, on three machines of deploy/ha/trial.py under load.

`make rehearse` runs all of them, `make rehearse CHAPTERS="replace_node"` one. Each prints what happened and how long it
took, and fails if an acknowledged animal is lost or doubled. docs/operators-book.md has the figures.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy" / "ha"))  # a program of its own

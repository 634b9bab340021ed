"""The operator's book (docs/operators-book.md), chapter by chapter, on three machines of lab/trial under load.

`make -C lab rehearse` runs all of them, `make -C lab rehearse CHAPTERS="replace_node"` one. Each prints what happened and how long it
took, and fails if an acknowledged animal is lost or doubled. docs/operators-book.md has the figures.
"""

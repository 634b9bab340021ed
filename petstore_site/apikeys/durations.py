"""The written form of a length of time, `90d`, as the commands take it."""

import re
from datetime import timedelta

UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

LONGEST = timedelta(days=36_500)
"""A hundred years: far enough for everybody, and no date overflows."""


def parse_duration(text: str) -> timedelta:
    """Return the positive length of time that `text` writes, such as `30min`, `24h`, `90d` or `2w`.

    Raises `ValueError` with a sentence that says what it may be.
    """
    if match := re.fullmatch(r"([1-9][0-9]{0,7})m", text):
        message = f"{text} may be minutes or months. Write {match[1]}min, or months in days or weeks, such as 30d."
        raise ValueError(message)
    match = re.fullmatch(r"([1-9][0-9]{0,7})(min|[hdw])", text)
    if match is None or int(match[1]) * UNITS[match[2]] > LONGEST:
        message = f"must be such as 30min, 24h, 90d or 2w, and at most {LONGEST.days}d."
        raise ValueError(message)
    return int(match[1]) * UNITS[match[2]]

"""The written form of a rate limit, `600/min`, shared by the settings, the keys and the limiter."""

import re

MOST_REQUESTS = 1_000_000
UNITS = {"s": "second", "min": "minute", "h": "hour", "day": "day"}
"""What the library that counts calls ours."""


def parse_rate(text: str) -> str:
    """Return the limit that `text` writes, such as `600/min`, as that library writes it: `600/minute`.

    Raises `ValueError` with a sentence that says which rates are valid.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6})/(s|min|h|day)", text)
    if match is None or int(match[1]) > MOST_REQUESTS:
        raise ValueError(f"must be N/s, N/min, N/h or N/day with N from 1 to {MOST_REQUESTS}, as in 600/min.")
    return f"{match[1]}/{UNITS[match[2]]}"

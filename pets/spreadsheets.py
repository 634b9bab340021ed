"""temporary"""


def unescape(text: str) -> str:
    return text

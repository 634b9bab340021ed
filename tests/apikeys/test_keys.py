"""The written form of a key."""

import re
from hashlib import sha256
from zlib import crc32

import pytest

from petstore_site.apikeys import keys

LIVE, TEST = "pets_live_", "pets_test_"
KNOWN = "pets_test_7Hq2LmZx0123456789ABCDEFGHIJKLMNOPQRSTUV"


def number(text: str) -> int:
    """Read base62, independently of the code under test."""
    value = 0
    for character in text:
        value = value * 62 + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".index(character)
    return value


class TestGenerate:
    @pytest.mark.parametrize("prefix", [LIVE, TEST])
    def test_form(self, prefix: str) -> None:
        new = keys.generate(prefix)
        match = re.fullmatch(f"{prefix}([0-9A-Za-z]{{8}})[0-9A-Za-z]{{32}}([0-9A-Za-z]{{6}})", new)
        assert match is not None
        assert number(match[2]) == crc32(new[:-6].encode())
        assert len(new) == 56

    def test_digest_is_the_sha256_of_the_whole_key(self) -> None:
        new = keys.generate(TEST)
        assert keys.digest(new) == sha256(new.encode()).hexdigest()


class TestChecksum:
    @pytest.mark.parametrize(("start", "checksum"), [("", "000000"), ("123456789", "3jZRME"), (KNOWN, "0iODOh")])
    def test_values(self, start: str, checksum: str) -> None:
        assert keys.checksum(start) == checksum
        assert number(checksum) == crc32(start.encode())


class TestIsWellFormed:
    def test_every_single_wrong_character_is_rejected(self) -> None:
        text = keys.generate(TEST)
        wrong = [
            text[:place] + character + text[place + 1 :]
            for place in range(len(text))
            for character in keys.ALPHABET + "-_é "
            if character != text[place]
        ]
        assert [changed for changed in wrong if keys.is_well_formed(changed, prefix=TEST)] == []

    @pytest.mark.parametrize("change", ["", "{}\n", " {}", "{} ", "{}0", "{}=", "{}\x00", "{0}{0}", "{},{}"])
    def test_other_lengths_are_rejected(self, change: str) -> None:
        text = keys.generate(TEST)
        assert not keys.is_well_formed(change.format(text, text), prefix=TEST)
        longer = f"{text}0"
        assert not keys.is_well_formed(longer + keys.checksum(longer), prefix=TEST)

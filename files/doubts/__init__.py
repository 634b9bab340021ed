"""What in a file looks wrong though no rule says so: values that a program altered, texts in another encoding."""

from files.doubts.altered import IS_NO_VALUE, NO_VALUE, looks_altered, looks_converted
from files.doubts.encodings import LIKELY, OF_SEVERAL_BYTES, SUSPECT, known_encoding, misread, readings
from files.doubts.near import NEW_REFERENCE, differences, note_near_references

__all__ = [
    "IS_NO_VALUE",
    "LIKELY",
    "NEW_REFERENCE",
    "NO_VALUE",
    "OF_SEVERAL_BYTES",
    "SUSPECT",
    "differences",
    "known_encoding",
    "looks_altered",
    "looks_converted",
    "misread",
    "note_near_references",
    "readings",
]

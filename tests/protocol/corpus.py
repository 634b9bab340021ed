"""Requests that two readers could divide differently, each with a whole request hidden in its body.

Each is the fields and the body of a `POST`; `%(…)s` in them: `hidden` is the hidden request, `n` its length,
`x` the same in hexadecimal, `m` the length of the body.
"""

from typing import Any

HIDDEN = "GET /v1/hidden-{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

BY_LENGTH = "%(hidden)s"
CHUNK = "%(x)s\r\n%(hidden)s\r\n0\r\n\r\n"
BEHIND_THE_END = "0\r\n\r\n%(hidden)s"
CHUNKED = "Transfer-Encoding: chunked"

TRANSFER_ENCODINGS = {
    "CL.TE": (f"Content-Length: %(m)s\r\n{CHUNKED}", BEHIND_THE_END),
    "TE.CL": (f"{CHUNKED}\r\nContent-Length: 4", CHUNK),
    "CL.TE empty": (f"Content-Length: 0\r\n{CHUNKED}", CHUNK),
    "capitals": ("TRANSFER-ENCODING: CHUNKED", CHUNK),
    "tab": ("Transfer-Encoding:\tchunked", CHUNK),
    "vertical tab": ("Content-Length: %(m)s\r\nTransfer-Encoding: \x0bchunked", BEHIND_THE_END),
    "form feed": ("Content-Length: %(m)s\r\nTransfer-Encoding: chunked\x0c", BEHIND_THE_END),
    "quoted": ('Content-Length: %(m)s\r\nTransfer-Encoding: "chunked"', BEHIND_THE_END),
    "xchunked": ("Content-Length: %(m)s\r\nTransfer-Encoding: xchunked", BEHIND_THE_END),
    "xchunked alone": ("Transfer-Encoding: xchunked", CHUNK),
    "identity": ("Content-Length: %(m)s\r\nTransfer-Encoding: identity", BEHIND_THE_END),
    "empty": ("Content-Length: %(m)s\r\nTransfer-Encoding:", BEHIND_THE_END),
    "comma": ("Content-Length: %(m)s\r\nTransfer-Encoding: ,chunked", BEHIND_THE_END),
    "parameter": ("Content-Length: %(m)s\r\nTransfer-Encoding: chunked;q=1", BEHIND_THE_END),
    "chunked, identity": (f"{CHUNKED}, identity", CHUNK),
    "identity, chunked": ("Transfer-Encoding: identity, chunked", CHUNK),
    "gzip, chunked": ("Transfer-Encoding: gzip, chunked", CHUNK),
    "chunked, chunked": (f"{CHUNKED}, chunked", CHUNK),
    "twice": (f"{CHUNKED}\r\n{CHUNKED}", CHUNK),
    "TE.TE identity": (f"{CHUNKED}\r\nTransfer-Encoding: identity", CHUNK),
    "TE.TE x": (f"Transfer-Encoding: x\r\n{CHUNKED}\r\nContent-Length: %(m)s", BEHIND_THE_END),
    "underscore": ("Content-Length: %(m)s\r\nTransfer_Encoding: chunked", BEHIND_THE_END),
    "space before colon": ("Content-Length: %(m)s\r\nTransfer-Encoding : chunked", BEHIND_THE_END),
    "space before name": (f"Content-Length: %(m)s\r\n {CHUNKED}", BEHIND_THE_END),
    "NUL in name": ("Content-Length: %(m)s\r\nTransfer-Encoding\x00: chunked", BEHIND_THE_END),
    "NUL in value": ("Content-Length: %(m)s\r\nTransfer-Encoding: chunked\x00", BEHIND_THE_END),
    "bare LF before": (f"Content-Length: %(m)s\r\nX-A: b\n{CHUNKED}", BEHIND_THE_END),
    "bare CR before": (f"Content-Length: %(m)s\r\nX-A: b\r{CHUNKED}", BEHIND_THE_END),
    "folded": ("Content-Length: %(m)s\r\nTransfer-Encoding:\r\n chunked", BEHIND_THE_END),
    "folded by LF": ("Content-Length: %(m)s\r\nTransfer-Encoding:\n chunked", BEHIND_THE_END),
}

LENGTHS = {
    "right": ("Content-Length: %(n)s", BY_LENGTH),
    "zeros before": ("Content-Length: 000%(n)s", BY_LENGTH),
    "spaces around": ("Content-Length:  \t%(n)s \t", BY_LENGTH),
    "twice equal": ("Content-Length: %(n)s\r\nContent-Length: %(n)s", BY_LENGTH),
    "twice different": ("Content-Length: %(n)s\r\nContent-Length: 0", BY_LENGTH),
    "twice different, 0 first": ("Content-Length: 0\r\nContent-Length: %(n)s", "x%(hidden)s"),
    "list equal": ("Content-Length: %(n)s, %(n)s", BY_LENGTH),
    "list different": ("Content-Length: 0, %(n)s", BY_LENGTH),
    "plus": ("Content-Length: +%(n)s", BY_LENGTH),
    "minus": ("Content-Length: -%(n)s", BY_LENGTH),
    "minus zero": ("Content-Length: -0", BY_LENGTH),
    "space inside": ("Content-Length: %(n)s 0", BY_LENGTH),
    "hexadecimal": ("Content-Length: 0x%(x)s", BY_LENGTH),
    "underscore": ("Content-Length: 0_%(n)s", BY_LENGTH),
    "point": ("Content-Length: %(n)s.0", BY_LENGTH),
    "exponent": ("Content-Length: 1e2", BY_LENGTH),
    "empty": ("Content-Length:", "x%(hidden)s"),
    "superscript": ("Content-Length: \xb2", BY_LENGTH),
    "2^64 more": ("Content-Length: 18446744073709551617", BY_LENGTH),
    "5000 digits": (f"Content-Length: {'9' * 5000}", BY_LENGTH),
    "vertical tab": ("Content-Length: \x0b%(n)s", BY_LENGTH),
    "NUL": ("Content-Length: %(n)s\x00", BY_LENGTH),
    "space before colon": ("Content-Length : %(n)s", BY_LENGTH),
    "no name": (": x\r\nContent-Length: %(n)s", BY_LENGTH),
    "no colon": ("Nonsense\r\nContent-Length: %(n)s", BY_LENGTH),
    "bare LF before": ("X-A: b\nContent-Length: %(n)s", BY_LENGTH),
    "bare CR before": ("X-A: b\rContent-Length: %(n)s", "x%(hidden)s"),
    "bare CR in value": ("Content-Length: %(n)s\rx", BY_LENGTH),
    "folded": ("Content-Length:\r\n %(n)s", BY_LENGTH),
    "folded header before": ("X-A: b\r\n c\r\nContent-Length: %(n)s", BY_LENGTH),
    "second Host": ("Host: 127.0.0.1\r\nContent-Length: %(n)s", BY_LENGTH),
    "Expect": ("Expect: 100-continue, x\r\nContent-Length: %(n)s", BY_LENGTH),
    "Upgrade": (
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\nContent-Length: %(n)s",
        BY_LENGTH,
    ),
    "Connection names it": ("Connection: Content-Length\r\nContent-Length: %(n)s", BY_LENGTH),
}

CHUNKS = {
    "right": CHUNK,
    "zeros before": f"000{CHUNK}",
    "extension": "%(x)s;a=b\r\n%(hidden)s\r\n0\r\n\r\n",
    "quoted extension": '%(x)s;a="b;c"\r\n%(hidden)s\r\n0\r\n\r\n',
    "extension with LF": "%(x)s;a\nb\r\n%(hidden)s\r\n0\r\n\r\n",
    "extension with CR": "%(x)s;a\rb\r\n%(hidden)s\r\n0\r\n\r\n",
    "extension without name": "%(x)s;\r\n%(hidden)s\r\n0\r\n\r\n",
    "0x": f"0x{CHUNK}",
    "plus": f"+{CHUNK}",
    "minus": f"-{CHUNK}",
    "space before": f" {CHUNK}",
    "space behind": "%(x)s \r\n%(hidden)s\r\n0\r\n\r\n",
    "underscore": f"0_{CHUNK}",
    "no size": "\r\n%(hidden)s\r\n0\r\n\r\n",
    "2^64 more": f"100000000000000{CHUNK}",
    "2^63": "8000000000000000\r\n%(hidden)s\r\n0\r\n\r\n",
    "LF behind size": "%(x)s\n%(hidden)s\r\n0\r\n\r\n",
    "CR behind size": "%(x)s\r%(hidden)s\r\n0\r\n\r\n",
    "LF behind data": "%(x)s\r\n%(hidden)s\n0\r\n\r\n",
    "nothing behind data": "%(x)s\r\n%(hidden)s0\r\n\r\n",
    "other two bytes behind data": "%(x)s\r\n%(hidden)sxx0\r\n\r\n",
    "too short": "1\r\n%(hidden)s\r\n0\r\n\r\n",
    "no end": "%(x)s\r\n%(hidden)s\r\n",
    "half an end": "%(x)s\r\n%(hidden)s\r\n0\r\n",
    "size of nonsense": "nonsense\r\n%(hidden)s\r\n0\r\n\r\n",
    "trailer": "%(x)s\r\n%(hidden)s\r\n0\r\nX-A: b\r\n\r\n",
    "trailer with a length": "%(x)s\r\n%(hidden)s\r\n0\r\nContent-Length: 5\r\n\r\n",
    "trailer with a key": "%(x)s\r\n%(hidden)s\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
    "trailer without colon": "0\r\n%(hidden)s",
    "trailer by LF": "%(x)s\r\n%(hidden)s\r\n0\r\nX-A: b\n\r\n",
}

CASES = {
    **{f"TE {name}": case for name, case in TRANSFER_ENCODINGS.items()},
    **{f"CL {name}": case for name, case in LENGTHS.items()},
    **{f"chunk {name}": (CHUNKED, body) for name, body in CHUNKS.items()},
}

LEGAL = {
    "TE capitals", "CL right", "CL zeros before", "CL Connection names it", "chunk right", "chunk zeros before",
    "chunk extension", "chunk quoted extension", "chunk trailer",
}  # fmt: skip
"""What HTTP allows and clients send: one request."""

REJECTED = {
    "TE CL.TE", "TE TE.CL", "TE CL.TE empty", "TE TE.TE identity", "TE TE.TE x", "TE twice", "CL twice different",
    "CL twice different, 0 first", "CL list different", "CL plus", "CL minus", "CL hexadecimal", "TE folded",
}  # fmt: skip
"""What two readers would divide differently for certain: no request."""


def written(fields: str, body: str, word: str) -> bytes:
    """Return the bytes of a case; `word` marks its requests in the logs."""
    values: dict[str, Any] = {"hidden": HIDDEN.format(word)}
    values |= {"n": len(values["hidden"]), "x": f"{len(values['hidden']):x}"}
    body %= values
    head = f"POST /v1/outer-{word} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: {word}\r\n"
    return f"{head}{fields % (values | {'m': len(body)})}\r\n\r\n{body}".encode("latin-1")

"""The page of the clients: the packages that were built for the release, with hashes, and the READMEs in them."""

import tarfile
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse

from petstore_site.portal import documents
from petstore_site.portal.code import SERVED_ORIGIN, Example, block
from petstore_site.portal.documents import Section

RELEASED = settings.BASE_DIR / "clients" / "released"
"""What `make clients` built for the release, copied from `clients/dist`."""

MEDIA_TYPES = {".whl": "application/zip", ".tgz": "application/gzip"}


class Package(NamedTuple):
    """A file to install a client from."""

    name: str
    size: int
    """Bytes."""
    hash_name: str
    hash: str
    """As the tool that installs it writes it: pip in hexadecimal, npm as `integrity` in `package-lock.json`."""
    line: str
    """What installs it."""
    install: Example


class Language(NamedTuple):
    """A client: its package, and its README, also in sections."""

    id: str
    title: str
    package: Package
    readme: str
    introduction: Section
    sections: list[Section]


def packages() -> dict[str, Path]:
    """Return the files of the packages by name."""
    return {path.name: path for path in sorted(RELEASED.iterdir()) if path.suffix in MEDIA_TYPES}


def context() -> dict[str, Any]:
    """Return what the template of the clients shows."""
    return {"languages": [_language("python", "Python", ".whl"), _language("typescript", "TypeScript", ".tgz")]}


def _language(name: str, title: str, suffix: str) -> Language:
    file = next(path for path in packages().values() if path.suffix == suffix)
    text = readme(file)
    introduction = documents.introduction(text)
    return Language(name, title, _package(file), text, introduction, list(_sections(name, text)))


def readme(file: Path) -> str:
    """Return the README in a package. The one of the checkout can be about what this package does not have yet."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            return wheel.read(name).decode().partition("\n\n")[2]
    with tarfile.open(file) as tarball:
        packed = tarball.extractfile("package/README.md")
        return packed.read().decode() if packed else ""


def _sections(name: str, text: str) -> Iterator[Section]:
    """Yield the sections; the package's own lines replace those of Install, which have no hash."""
    for _, section in documents.sections(text, 2):
        if section.id != "install":
            yield section._replace(id=f"{name}-{section.id}")


def _package(file: Path) -> Package:
    content = file.read_bytes()
    url = SERVED_ORIGIN + reverse("client-package", args=[file.name])
    if file.suffix == ".whl":
        name, digest = "SHA-256", sha256(content).hexdigest()
        line = f'pip install "{url}#sha256={digest}"'
    else:
        name, digest = "Integrity", f"sha512-{b64encode(sha512(content).digest()).decode()}"
        line = f"npm install {url}"
    return Package(file.name, len(content), name, digest, line, block("Install", line, "sh"))

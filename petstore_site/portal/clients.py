"""The page of the clients: the packages that were built for the release, with hashes, and the READMEs in them.

The READMEs are one text in two languages: what both have under the same heading is one topic of the page.
"""

import tarfile
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256, sha512
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString

from petstore_site.portal import documents
from petstore_site.portal.code import LANGUAGES, SERVED_ORIGIN, Example, Variant, block
from petstore_site.portal.documents import Section

RELEASED = settings.BASE_DIR / "clients" / "released"
"""What `make clients` built for the release, copied from `clients/dist`."""

MEDIA_TYPES = {".whl": "application/zip", ".tgz": "application/gzip"}


class ClientPackage(NamedTuple):
    """A file to install a client from."""

    name: str
    size: int
    """Bytes."""
    hash_name: str
    hash: str
    """As the tool that installs it writes it: pip in hexadecimal, npm as `integrity` in `package-lock.json`."""
    install: Example


class Language(NamedTuple):
    """A client: its package, and its README in sections."""

    id: str
    code: str
    """As the samples of the portal name it: a choice there holds here too."""
    package: ClientPackage
    introduction: Section
    sections: dict[SafeString, Section]
    """By the heading, without Install: the package's own lines replace it, which have a hash."""

    @property
    def title(self) -> str:
        """The name that its tabs show."""
        return LANGUAGES[self.code]


class Topic(NamedTuple):
    """What the READMEs have under one heading, each in its language."""

    id: str
    title: SafeString
    parts: list[tuple[Language, Section]]
    examples: list[Example]

    @property
    def only(self) -> str:
        """The one language that it is for; empty if it is for all."""
        return self.parts[0][0].code if len(self.parts) == 1 else ""


def packages() -> dict[str, Path]:
    """Return the files of the packages by name."""
    return {path.name: path for path in sorted(RELEASED.iterdir()) if path.suffix in MEDIA_TYPES}


def context() -> dict[str, Any]:
    """Return what the template of the clients shows."""
    languages = [_language("python", "python", ".whl"), _language("typescript", "ts", ".tgz")]
    install = _together("Install", [(one, one.package.install) for one in languages])
    return {"languages": languages, "install": install, "topics": list(_topics(languages))}


def _language(name: str, code: str, suffix: str) -> Language:
    file = next(path for path in packages().values() if path.suffix == suffix)
    text = readme(file)
    sections = {one.title: one for _, one in documents.sections(text, 2) if one.id != "install"}
    return Language(name, code, _package(file), documents.introduction(text), sections)


def _topics(languages: list[Language]) -> Iterator[Topic]:
    """Yield the topics of all languages, in the order of the first one. What only another has keeps its place there."""
    first, *others = languages
    titles = list(first.sections)
    for language in others:
        for before, title in pairwise(language.sections):
            if title not in titles:
                titles.insert(titles.index(before) + 1, title)
    for title in titles:
        parts = [(one, one.sections[title]) for one in languages if title in one.sections]
        rows = zip(*([(one, example) for example in section.examples] for one, section in parts), strict=True)
        yield Topic(parts[0][1].id, title, parts, [_together(title, list(row)) for row in rows])


def _together(title: str, examples: list[tuple[Language, Example]]) -> Example:
    """Return samples in several languages as one; if they are the same in each, that one."""
    variants = [Variant(language.code, language.title, one.variants[0].html) for language, one in examples]
    is_same = len({one.html for one in variants}) == 1
    return examples[0][1] if is_same else Example(title, "sample", variants)


def readme(file: Path) -> str:
    """Return the README in a package. The one of the checkout can be about what this package does not have yet."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            return wheel.read(name).decode().partition("\n\n")[2]
    with tarfile.open(file) as tarball:
        packed = tarball.extractfile("package/README.md")
        return packed.read().decode() if packed else ""


def _package(file: Path) -> ClientPackage:
    content = file.read_bytes()
    url = SERVED_ORIGIN + reverse("client-package", args=[file.name])
    if file.suffix == ".whl":
        name, digest = "SHA-256", sha256(content).hexdigest()
        line = f'pip install "{url}#sha256={digest}"'
    else:
        name, digest = "Integrity", f"sha512-{b64encode(sha512(content).digest()).decode()}"
        line = f"npm install {url}"
    return ClientPackage(file.name, len(content), name, digest, block("Install", line, "sh"))

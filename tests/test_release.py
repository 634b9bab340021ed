"""`make release`: all or nothing, in a clone; and the version is the same wherever it is written."""

import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from clients.tools import node_tools, python_tools
from deploy import release
from deploy.release import ReleaseError
from tests.clients.conftest import or_skip
from tests.server import ROOT


@pytest.mark.parametrize("name", release.VERSIONED)
def test_the_version_is_the_same_wherever_it_is_written(name: str) -> None:
    found = re.findall(release.VERSIONED[name], (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert set(found) == {release.as_written(name, release.version_of(ROOT))}


@pytest.mark.parametrize("name", release.DOCUMENTED)
def test_documents_name_the_last_release(name: str) -> None:
    found = re.findall(release.DOCUMENTED[name], (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    [last, *_] = re.findall(r"^## (\S+) \(\d", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(found) == {last}


def test_every_image_is_of_the_last_release() -> None:
    files = release.git(ROOT, "grep", "-l", "-E", r"petstore:[0-9]+\.|newTag:", "--", "compose.yaml", "deploy").split()
    assert sorted(set(files) - {"deploy/release.py"} - release.DOCUMENTED.keys()) == []


def test_the_clients_are_the_released_ones_or_have_another_version() -> None:
    release.check_clients(ROOT)


def test_a_changed_client_needs_another_version(repository: Path) -> None:
    release.write(repository, "99.0.0", "2031-02-03")
    released = repository / "clients" / "released"
    (released / "petstore_client-99.0.0-py3-none-any.whl").touch()
    (released / "SOURCES").write_text(release.sources(repository))
    release.check_clients(repository)
    for name in (
        "clients/typescript/src/configuration.ts",
        "clients/python/petstore_client/configuration.py",
        "docs/openapi.yaml",
    ):
        before = (repository / name).read_bytes()
        (repository / name).write_bytes(before + b"\n")
        with pytest.raises(ReleaseError, match=r"^The clients differ from those that were released as 99\.0\.0\."):
            release.check_clients(repository)
        (repository / name).write_bytes(before)
    release.check_clients(repository)
    (repository / "clients/python/petstore_client/configuration.py").unlink()
    release.git(repository, "rm", "--quiet", "--cached", "clients/python/petstore_client/configuration.py")
    with pytest.raises(ReleaseError, match="Give them another version"):
        release.check_clients(repository)
    release.commit(repository, "99.0.0")
    release.move_on(repository, "99.0.0")
    release.check_clients(repository)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with the code as it is here, and an unreleased 99.0.0."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Someone")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "someone@petstore.example")
    monkeypatch.setenv("CLIENT_TOOLS", str(ROOT))
    folder = tmp_path / "petstore"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    changelog = folder / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("\n## ", "\n## 99.0.0 (unreleased)\n\n### API\n\n- `Moon` is new.\n\n## ", 1))
    for command in ("init --quiet --initial-branch=main", "add --all --force", "commit --quiet --message First"):
        release.git(folder, *command.split())
    return folder


def state(folder: Path) -> tuple[str, str, str]:
    return (release.git(folder, "rev-parse", "HEAD"), release.git(folder, "tag"), release.git(folder, "status", "-s"))


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("99", "VERSION must be like 1.2.0, not '99'."),
        ("0.9.0", "0.9.0 is older than "),
        ("99.1.0", "CHANGELOG.md has no heading '## 99.1.0 (unreleased)' with '### API' under it."),
    ],
)
def test_what_cannot_be_released_is_rejected(repository: Path, version: str, reason: str) -> None:
    before = state(repository)
    with pytest.raises(ReleaseError, match=re.escape(reason)):
        release.release(repository, version, checks=[], is_dry_run=False)
    assert state(repository) == before


def test_a_release_without_a_part_for_callers_is_rejected(repository: Path) -> None:
    changelog = repository / "CHANGELOG.md"
    changelog.write_text(changelog.read_text(encoding="utf-8").replace("### API", "### Operation", 1), encoding="utf-8")
    release.git(repository, "commit", "--all", "--quiet", "--message", "Second")
    before = state(repository)
    with pytest.raises(ReleaseError, match=r"^CHANGELOG.md has no heading '## 99.0.0 \(unreleased\)' with '### API'"):
        release.release(repository, "99.0.0", checks=[], is_dry_run=False)
    assert state(repository) == before


def test_changes_and_a_used_version_are_rejected(repository: Path) -> None:
    release.git(repository, "tag", "v99.0.0")
    with pytest.raises(ReleaseError, match=r"v99\.0\.0 is tagged already\."):
        release.check(repository, "99.0.0")
    (repository / "new").touch()
    with pytest.raises(ReleaseError, match="The work tree has changes"):
        release.check(repository, "99.0.0")


def test_a_release_is_written_everywhere(repository: Path) -> None:
    release.write(repository, "99.0.0", "2031-02-03")
    for name, pattern in (release.VERSIONED | release.DOCUMENTED).items():
        assert set(re.findall(pattern, release.text_of(repository / name), re.MULTILINE)) == {"99.0.0"}
    assert "\n## 99.0.0 (2031-02-03)\n" in release.text_of(repository / "CHANGELOG.md")
    assert release.notes(repository, "99.0.0") == (
        "Release 99.0.0\n\n## 99.0.0 (2031-02-03)\n\n### API\n\n- `Moon` is new.\n"
    )
    changed = release.git(repository, "diff", "--name-only").splitlines()
    assert sorted(changed) == sorted([*release.VERSIONED, *release.DOCUMENTED, "CHANGELOG.md"])


def test_the_version_moves_on_after_a_release(repository: Path) -> None:
    release.write(repository, "99.0.0", "2031-02-03")
    release.commit(repository, "99.0.0")
    release.move_on(repository, "99.0.0")
    assert release.version_of(repository) == release.version_of(repository / "clients" / "python") == "99.1.0.dev0"
    assert json.loads(release.text_of(repository / "clients/typescript/package.json"))["version"] == "99.1.0-dev.0"
    changed = release.git(repository, "diff", "--name-only", "HEAD^").splitlines()
    assert sorted(changed) == sorted(release.VERSIONED)
    assert release.git(repository, "log", "-1", "--format=%s") == "Begin 99.1.0.dev0"
    with pytest.raises(ReleaseError, match=r"^99\.0\.1 is older than 99\.1\.0\.dev0\.$"):
        release.check(repository, "99.0.1")
    release.write(repository, "99.1.0", "2031-03-04")
    assert release.version_of(repository) == "99.1.0"


def test_the_commit_the_tag_and_the_artefacts_arrive(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with or_skip():
        python_tools(), node_tools()
    release.release(repository, "99.0.0", checks=["help"], is_dry_run=False)
    printed = capsys.readouterr().out
    for name in (
        "docs/released/openapi-99.0.0.yaml",
        "tests/released/99.0.0.sqlite3.xz",
        "tests/released/99.0.0.sql.xz",
        "clients/released/petstore-client-99.0.0.tgz",
        "clients/released/SOURCES",
        "\nBegin 99.1.0.dev0\n",
        "  petstore_client-99.0.0-py3-none-any.whl\n",
        "  petstore-99.0.0.tar.gz\n",
        "  NOTES.md\n",
        "  openapi.yaml\n",
        "  base.cdx.json\n",
    ):
        assert name in printed
    assert printed.endswith(
        "\nReleased 99.0.0: the tag v99.0.0, and var/release/99.0.0.\nNext: git push --follow-tags\n"
    )
    assert release.git(repository, "log", "--format=%s") == "Begin 99.1.0.dev0\nRelease 99.0.0\nFirst"
    assert release.git(repository, "rev-parse", "HEAD^") == release.git(repository, "rev-parse", "v99.0.0^{commit}")
    assert release.git(repository, "tag", "--list", "--format=%(contents)", "v99.0.0").endswith("- `Moon` is new.")
    assert state(repository)[2] == ""
    folder = repository / "var" / "release" / "99.0.0"
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert json.loads((folder / "base.cdx.json").read_text())["metadata"]["component"]["version"] == "99.0.0"
    with tarfile.open(folder / "petstore-99.0.0.tar.gz") as archive:
        assert 'version = "99.0.0"' in archive.extractfile("petstore-99.0.0/pyproject.toml").read().decode()  # type: ignore[union-attr]


def test_a_checkout_that_went_on_meanwhile_keeps_no_tag(repository: Path) -> None:
    clone = repository.parent / "clone"
    release.run(repository, "git", "clone", "--quiet", str(repository), str(clone))
    release.write(clone, "99.0.0", "2031-02-03")
    release.commit(clone, "99.0.0")
    release.git(repository, "commit", "--quiet", "--allow-empty", "--message", "Meanwhile")
    before = state(repository)
    with pytest.raises(ReleaseError, match="git merge --quiet --ff-only FETCH_HEAD failed"):
        release.publish(repository, "99.0.0", clone, repository.parent)
    assert state(repository) == before


def test_a_failure_leaves_everything_as_it_was(repository: Path) -> None:
    (repository / "tests" / "released" / "make.py").write_text("raise SystemExit(1)\n")
    release.git(repository, "commit", "--quiet", "--all", "--message", "Break")
    before = state(repository)
    with pytest.raises(ReleaseError, match=r"-m tests\.released\.make 99\.0\.0 failed"):
        release.release(repository, "99.0.0", checks=[], is_dry_run=False)
    assert state(repository) == before


def test_a_dry_run_keeps_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def artefacts(_folder: Path, _version: str, target: Path) -> None:
        target.mkdir()
        (target / "SHA256SUMS").touch()

    monkeypatch.setattr(release, "keep", lambda *_: None)  # both write into the clone only, as a release shows
    monkeypatch.setattr(release, "artefacts", artefacts)
    before = state(repository)
    release.release(repository, "99.0.0", checks=["help"], is_dry_run=True)
    printed = capsys.readouterr().out
    assert "\nBegin 99.1.0.dev0\n" in printed
    assert printed.endswith("Dry run: nothing changed.\n")
    assert state(repository) == before
    assert not (repository / "var").exists()

"""`make audit`: known vulnerabilities of the locked versions. A version that could not be checked never counts as safe.

The exit status is 0 if all versions were checked and none is vulnerable, 1 if one is, 2 if one could not be checked.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

AUDIT = ("-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")


class Finding(NamedTuple):
    """A sentence about a lock, and the exit status it asks for."""

    status: int
    sentence: str


def findings(lock: Path, options: Sequence[str]) -> Iterator[Finding]:
    """Yield what is wrong with the versions in `lock`; `options` go to pip-audit."""
    command = [sys.executable, *AUDIT, *options, "--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        yield Finding(2, f"{lock}: NOT CHECKED. The vulnerability database did not respond: {reason}")
        return
    skipped = [package for package in packages if "skip_reason" in package]
    if skipped:
        count = f"{len(skipped)} of {len(packages)} versions NOT CHECKED"
        yield Finding(2, f"{lock}: {count}. The first: {skipped[0]['skip_reason']}")
    for package in packages:
        for found in package.get("vulns", []):
            fixed = " or ".join(found["fix_versions"]) or "no version yet"
            yield Finding(1, f"{lock}: {package['name']} {package['version']} has {found['id']}, fixed in {fixed}.")


def main(options: Sequence[str] = ()) -> int:
    """Print every finding, then the result in a sentence, and return the exit status."""
    locks = sorted(Path().glob("**/requirements/*.txt"))
    found = [finding for lock in locks for finding in findings(lock, options)]
    statuses = {finding.status for finding in found}
    results = ["No locked version has a known vulnerability."] if not found else []
    results += ["Locked versions have known vulnerabilities."] if 1 in statuses else []
    results += ["The audit is incomplete: versions that were not checked may be vulnerable."] if 2 in statuses else []
    sys.stdout.write("\n".join([*(finding.sentence for finding in found), *results]) + "\n")
    return min(statuses, default=0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

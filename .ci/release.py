"""Steps of a release: holds the tag against the version and the changelog, and writes the addresses of the repository.

python .ci/release.py check v0.1.0
python .ci/release.py addresses NAME/zenoh-conformance
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "OWNER/zenoh-conformance"
"""The address until a host has been chosen."""


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return why the tag cannot be released; nothing if it can."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heading = next((line for line in changelog if line.startswith(f"## {version}")), "")
    found = [] if tag == f"v{version}" else [f"the tag is {tag}, and pyproject.toml says {version}"]
    if not heading:
        found.append(f"CHANGELOG.md has no section {version}")
    elif "not released" in heading:
        found.append(f"CHANGELOG.md says {heading.removeprefix('## ')!r}: write the date")
    return found


def write_addresses(repository: str, root: Path = ROOT) -> list[str]:
    """Replace the placeholder in the files that ship; return their names. Raises SystemExit if there is none."""
    owner, name = repository.split("/")
    files = [path for name in ("pyproject.toml", ".github", "docs/pages") for path in _texts(root / name)]
    changed = [path for path in files if PLACEHOLDER in path.read_text(encoding="utf-8")]
    if not changed:
        raise SystemExit(f"release: no file names {PLACEHOLDER}")
    for path in changed:
        text = path.read_text(encoding="utf-8").replace(PLACEHOLDER, repository)
        text = text.replace("OWNER.github.io/zenoh-conformance", f"{owner}.github.io/{name}")
        path.write_text(text, encoding="utf-8")
    return [str(path.relative_to(root)) for path in changed]


def _texts(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in (".md", ".yml"))


def main(words: list[str]) -> int:
    """Exit code 0 if the step is done."""
    if words[:1] == ["addresses"]:
        print("release: addresses in", *write_addresses(words[1]))
        return 0
    found = faults(words[1])
    for fault in found:
        print(f"release: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

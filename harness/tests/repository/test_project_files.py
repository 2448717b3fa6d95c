"""What a packager and a contributor look for: addresses, policies, templates, the steps of a release, the list of components."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path) -> Path:
    """The files that a release reads and changes."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    for name in (".github", "docs/pages"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_distribution_has_addresses():
    assert {"Documentation", "Source", "Issues", "Changelog", "Security"} <= set(PROJECT["urls"])


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_the_links_of_a_policy_lead_somewhere(name):
    path = ROOT / name
    for link in re.findall(r"\]\((?!http)([^)#]+)", path.read_text()):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_an_issue_form_is_one(path):
    form = yaml.safe_load(path.read_text())
    if path.stem == "config":
        assert form["contact_links"][0]["url"].endswith("/security/policy")
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [part["id"] for part in form["body"]]
    assert len(ids) == len(set(ids))
    assert {part["type"] for part in form["body"]} <= {"input", "textarea", "checkboxes", "dropdown", "markdown"}


def test_the_steps_of_a_release_exist():
    """Each script and each verb that the workflow runs."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = "\n".join(step["run"] for step in steps if "run" in step)
    scripts = re.findall(r"python (\S+\.py)", commands)
    assert {".ci/release.py", ".ci/sbom.py"} <= set(scripts)
    assert all((ROOT / name).is_file() for name in scripts)
    assert all(f"[testenv:{verb}]" in (ROOT / "tox.ini").read_text() for verb in re.findall(r"-e (\w+)", commands))
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"]) for step in steps if "uses" in step)


def test_a_tag_is_held_to_version_and_changelog(checkout):
    release = script("release")
    tag = f"v{PROJECT['version']}"
    assert release.faults("v9.9.9", checkout)[0] == f"the tag is v9.9.9, and pyproject.toml says {PROJECT['version']}"
    changelog = checkout / "CHANGELOG.md"
    changelog.write_text(f"# Changelog\n\n## {PROJECT['version']}, not released yet\n")
    assert release.faults(tag, checkout) == [
        f"CHANGELOG.md says '{PROJECT['version']}, not released yet': write the date"
    ]
    changelog.write_text(f"# Changelog\n\n## {PROJECT['version']}, 2027-01-31\n")
    assert release.faults(tag, checkout) == []
    changelog.write_text("# Changelog\n")
    assert release.faults(tag, checkout) == [f"CHANGELOG.md has no section {PROJECT['version']}"]


def test_a_release_has_the_addresses_of_its_repository(checkout):
    release = script("release")
    assert "pyproject.toml" in release.write_addresses("someone/zenoh-conformance", checkout)
    urls = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Source"] == "https://github.com/someone/zenoh-conformance"
    assert not [path for path in checkout.rglob("*") if path.is_file() and b"OWNER" in path.read_bytes()]
    with pytest.raises(SystemExit, match="no file names"):
        release.write_addresses("someone/zenoh-conformance", checkout)


def test_the_list_of_components_is_what_the_distribution_needs():
    sbom = script("sbom")
    bill = sbom.bill()
    assert json.dumps(bill) == json.dumps(sbom.bill())
    listed = {one["name"]: one["version"] for one in bill["components"]}
    direct = {re.match(r"[\w-]+", line).group() for line in PROJECT["dependencies"]}
    assert direct <= set(listed)
    assert all(version(name) == found for name, found in listed.items())
    assert not {"pyspark", "pytest", "matplotlib"} & set(listed)
    assert "jinja2" in {one["name"] for one in sbom.bill(("report",))["components"]}


def test_a_component_that_is_not_installed_is_red():
    with pytest.raises(PackageNotFoundError):
        script("sbom").needed("no-such-distribution")

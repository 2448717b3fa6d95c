"""Known targets: ours, the user's own, and names in place of target strings."""

import sys

import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.targets.catalogue import Catalogue, find

PROJECT = """
[targets.mine]
reach = "exec:./node {port}"
about = "a node of ours"
claims = ["qos"]
profiles = { qos-off = "exec:./node {port} --no-qos" }
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "zconform.toml").write_text(PROJECT)
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets" / "other.toml").write_text('[target]\nreach = ["tcp/127.0.0.1:7447", "wheel"]\n')
    (tmp_path / "targets" / "other.known.toml").write_text("not even toml")
    return tmp_path


def test_ours_is_there():
    known = Catalogue.load().get("zenoh-rust")
    assert known.reach[0] == "wheel"
    assert {"low-latency", "compression"} <= known.claims


def test_a_project_has_its_own(project):
    names = [target.name for target in Catalogue.load(project)]
    assert names == ["mine", "other", "zenoh-rust"]


def test_a_name_stands_for_its_first_reach_string(project):
    catalogue = Catalogue.load(project)
    reach = catalogue.reach("other?role=peer")
    assert (reach.kind, reach.rest, str(reach)) == ("tcp", "127.0.0.1:7447", "other?role=peer")
    assert str(reach.with_options(role="client")) == "other?role=client"
    assert str(catalogue.reach("wheel:1.9.0")) == "wheel:1.9.0"


def test_claims_and_profiles_come_from_the_file(project):
    target = Catalogue.load(project).open("mine")
    assert target.claims == {"qos"}
    assert set(target.profiles) == {"default", "qos-off"}


def test_an_unknown_name_offers_the_nearest(project):
    with pytest.raises(UsageError, match="mine"):
        Catalogue.load(project).reach("mime")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[targets.x]\nreach = 'exec:a {port}'\nclaim = []", "claims"),
        ("[targets.x]\nabout = 'no reach'", "how x is reached"),
        ("[targets.x]\nreach = 'weel'", "wheel"),
        ("[targets.x", "cannot read"),
        ("[targets.x]\nreach = 5", "field 'reach' must be array"),
        ("[targets.x]\nreach = [5]", "reach"),
        ("[targets.x]\nreach = 'wheel'\nclaims = 'qos'", "field 'claims' must be array"),
        ("[targets.x]\nreach = 'wheel'\nembargo = 'none'", "upstream or own"),
        ("[targets]\nx = 5", "x is not a table"),
        ("targets = 5", "targets is not a table"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path, text, says):
    (tmp_path / "zconform.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        Catalogue.load(tmp_path)
    assert says in str(refused.value)


def test_an_option_that_the_kind_does_not_have(project):
    with pytest.raises(UsageError, match="option of exec"):
        Catalogue.load(project).reach("mine?rolle=x")


def test_a_profile_of_its_own_is_started(tmp_path):
    (tmp_path / "zconform.toml").write_text(
        '[targets.w]\nreach = "wheel?profile=default"\nprofiles = { qos-off = "wheel" }'
    )
    with Catalogue.load(tmp_path).open("w").start("qos-off") as node:
        assert node.profile.name == "qos-off"


COOKIE = "establishment-cookie/an-invented-cookie-is-refused"
OWN = f"""
[targets.mine]
reach = "exec:{sys.executable} -m zenoh_harness.commands.peer --listen {{locator}} --fault believes-any-cookie"
claims = ["compression"]
"""
KNOWN = f"""
[[deviation]]
check = "{COOKIE}"
verdict = "fail"
cause = "stage open: OpenAck *"
reason = "it is so"
owner = "us"
"""


def test_a_name_is_run_with_what_its_files_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zconform.toml").write_text(OWN)
    assert invoke(["run", "mine", "--only", COOKIE]) == 1
    assert f"zconform run mine --only {COOKIE}" in capsys.readouterr().out
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets" / "mine.known.toml").write_text(KNOWN)
    assert invoke(["run", "mine", "--only", COOKIE]) == 0
    header = results.read(tmp_path / "zconform-results").header
    assert (header.reach, header.name, header.kind) == ("mine", "mine", "exec")
    assert invoke(["run", "mime"]) == 2
    assert "did you mean mine?" in capsys.readouterr().err


def test_the_baseline_by_its_name_is_kept_back_as_by_its_kind():
    catalogue = Catalogue.load()
    assert catalogue.open("zenoh-rust").embargo == catalogue.open("wheel").embargo == "upstream"


def test_files_of_somebody_else_below_targets_are_left_alone(tmp_path):
    (tmp_path / "targets").mkdir()
    (tmp_path / "targets" / "x86.toml").write_text('cpu = "x86-64"\n')
    assert [target.name for target in Catalogue.load(tmp_path)] == ["zenoh-rust"]


def test_a_reach_string_needs_no_file(tmp_path, monkeypatch):
    (tmp_path / "zconform.toml").write_text("not even toml")
    monkeypatch.chdir(tmp_path)
    assert str(find("exec:./node {port}")) == "exec:./node {port}"
    with pytest.raises(UsageError, match=r"zconform\.toml"):
        find("mine")

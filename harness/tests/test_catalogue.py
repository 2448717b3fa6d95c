"""Known targets: ours, the user's own, and names in place of reach strings."""

import pytest

from zenoh_harness.catalogue import Catalogue
from zenoh_harness.errors import UsageError

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
    reach, known = catalogue.reach("other?role=peer")
    assert (str(reach), known.name) == ("tcp/127.0.0.1:7447?role=peer", "other")
    assert catalogue.reach("wheel:1.9.0")[1] is None


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

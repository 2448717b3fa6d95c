"""One run over every kind of target that a machine without containers has."""

import shlex
import sys

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.programs import processes
from zenoh_harness.targets.build import builder
from zenoh_harness.version import harness_version

pytestmark = pytest.mark.long

US = [sys.executable, "-m", "zenoh_harness.cli"]
PEER = f"exec:{shlex.join([*US, 'peer'])} --zid {{zid}} --profile {{profile}}"
LISTENS, COMES = (
    f"{PEER} --listen {{locator}}?name=listens&version=7",
    f"{PEER} --connect {{locator}}?as=initiator&name=comes",
)
OUR_CODEC = f"stdio:{shlex.join([*US, 'codec'])}"


def run(folder, targets, *options):
    code = cli.invoke(["run", *targets, "--depth", "quick", "--out", str(folder), *options])
    assert not processes.running()
    return code, [results.read(target) for target in sorted(folder.iterdir())]


def test_nodes_and_codecs_of_every_kind_in_one_go(tmp_path, capsys):
    some = ("--only", "session-establishment/cookie*", "--only", "vectors/open/syn*")
    code, found = run(tmp_path / "r", ["reference", LISTENS, COMES, OUR_CODEC], *some)
    assert code == 0
    text = {read.header.name: (read.header.version, read.header.role) for read in found}
    ours = harness_version()
    assert text == {
        "reference": (ours, "responder+initiator+codec"), "listens": ("7", "responder"), "comes": ("", "initiator"),
        "zenoh-conformance": (ours, "codec"),
    }  # fmt: skip
    assert all(read.complete and read.judgements for read in found)
    together = capsys.readouterr().out.partition("All targets")[2]
    assert together.count("0 conforms") == 4
    assert COMES in together


@pytest.mark.soak
@pytest.mark.needs("cargo")
def test_the_baseline_its_old_releases_and_its_codec_with_them(tmp_path):
    codec = builder("zenoh-codec").make(None, None, print).what
    targets = ["reference", "wheel", "wheel:1.9.0", "wheel:1.0.4", LISTENS, COMES, OUR_CODEC, f"stdio:{codec}"]
    code, found = run(tmp_path / "r", targets)
    assert code == 0
    assert {read.header.reach for read in found} == set(targets)
    assert all(read.complete for read in found)
    shown = {
        (read.header.version, one.key.check): (one.details["known"]["expected"], bool(one.evidence))
        for read in found
        for one in read.judgements
        if one.verdict is Verdict.KNOWN
    }
    assert shown["1.9.0", "scripts/parameters-promise-more-than-there-is"] == ("crash", True)
    assert shown["1.0.4", "scripts/parameters-promise-more-than-there-is"] == ("crash", True)
    assert shown["1.0.4", "scripts/link-state-that-cannot-be-read"] == ("zombie", True)

"""Lists of known deviations: what is misspelt, impossible or twice is refused with what is nearest; what has expired is told."""

from __future__ import annotations

import datetime as dt

import pytest
from packaging.specifiers import SpecifierSet

from zenoh_harness.cli import invoke
from zenoh_harness.files import known
from zenoh_harness.files.faults import FileFault
from zenoh_harness.interop.scenario import all_scenarios
from zenoh_harness.run import known_deviations

ENTRY = """
[[deviation]]
requirement = "session-establishment/cookie-must-match"
check = "establishment-cookie/a-changed-cookie-is-refused"
role = "responder"
profile = "default"
kind = "wheel"
versions = ">=1.0"
verdict = "fail"
cause = "stage open: OpenAck *"
reason = "so it is"
owner = "us"
"""
INTEROP = {"interop/": [scenario.id for scenario in all_scenarios().values()]}


def written(tmp_path, *changes):
    text = ENTRY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "t.known.toml"
    path.write_text(text)
    return path


def test_what_ships_is_right():
    assert len(known_deviations.read(known.shipped_lists(), others=INTEROP)) > 10


def test_a_right_list_is_read(tmp_path):
    assert len(known_deviations.read([written(tmp_path)])) == 1


CHECK = "establishment-cookie/a-changed-cookie-is-refused"
PARAMETERS = 'parameters = { at = "no" }\nrole = "responder"'


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cookie-must-match", "cookie-must-mach", "cookie-must-match"),
        ("a-changed-cookie-is", "a-changd-cookie-is", "a-changed-cookie-is-refused"),
        (CHECK, "law/cookie-ecko", "law/cookie-echo"),
        (CHECK, "models/establishmant", "models/"),
        (CHECK, "interop/a-delete-arives", "interop/a-delete-arrives"),
        ('"responder"', '"respnder"', "responder"),
        ('"default"', '"defualt"', "default"),
        ('"wheel"', '"weel"', "wheel"),
        ("cookie-must-match", "init-syn-first", "can never match"),
        ('"responder"', '"initiator"', "can never match"),
        ('verdict = "fail"', 'verdict = "warn"', "can never match"),
        ('">=1.0"', '">=2,<1"', "can never match"),
        ('role = "responder"', PARAMETERS, "can never match"),
        (CHECK, "law/init-syn-first", "can never match"),
        (f'check = "{CHECK}"', 'parameters = { vresion = "0" }', "did you mean version"),
    ],
)  # fmt: skip
def test_what_names_nothing_or_can_never_match_is_refused(tmp_path, old, new, says):
    with pytest.raises(FileFault) as refused:
        known_deviations.read([written(tmp_path, (old, new))], others=INTEROP)
    assert says in str(refused.value)
    assert "entry 1" in str(refused.value)


def test_the_same_entry_of_two_lists_is_refused_and_one_list_twice_is_read_once(tmp_path):
    path = written(tmp_path)
    other = tmp_path / "other.known.toml"
    other.write_text(ENTRY)

    assert len(known_deviations.read([path, path])) == 1
    with pytest.raises(FileFault, match="an entry of another list"):
        known_deviations.read([path, other])


@pytest.mark.parametrize(
    "text", ["", ">=1", ">=1.0.0,<1.0.1", ">1.0,<1.0.5", "==1.4.*", "==1.0.4", "~=1.2", "!=1.0", ">=99999"]
)
def test_ranges_that_have_versions(text):
    assert known_deviations.satisfiable(SpecifierSet(text))


def test_what_has_expired_is_told(tmp_path):
    entries = known_deviations.read([written(tmp_path, ('owner = "us"', 'owner = "us"\nexpires = 2026-01-01'))])

    assert known_deviations.remarks(entries, dt.date(2025, 12, 31)) == []
    [remark] = known_deviations.remarks(entries, dt.date(2026, 1, 1))
    assert "expired on 2026-01-01" in remark


@pytest.mark.parametrize("command", [("run", "reference"), ("audit", "x.pcapng")])
def test_a_misspelt_entry_is_usage(command, tmp_path, capsys):
    path = written(tmp_path, ("cookie-must-match", "cookie-must-mach"))

    assert invoke([*command, "--known", str(path)]) == 2
    assert "cookie-must-match" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"verdict": "crash"}, True),
        ({"verdict": "flaky", "expires": "2999-01-01"}, False),
        ({"verdict": "crash", "versions": ">=2"}, False),
        ({"cause": "another"}, False),
    ],
    ids=["another-verdict", "quarantine", "another-version", "another-cause"],
)
def test_entries_that_cannot_both_show_are_told(tmp_path, second, told):
    check = "establishment-cookie/an-invented-cookie-is-refused"
    first = {"check": check, "verdict": "fail", "cause": "so", "reason": "r", "owner": "o"}
    blocks = [
        "[[deviation]]\n" + "".join(f'{name} = "{value}"\n' for name, value in one.items())
        for one in (first, first | second)
    ]
    (tmp_path / "x.known.toml").write_text("\n".join(blocks))
    said = known_deviations.remarks(known_deviations.read([tmp_path / "x.known.toml"]))
    assert any("only one can show" in one for one in said) is told

"""What is kept back: each grave verdict of a current release that is not public, and nothing else."""

import json
import stat
from types import SimpleNamespace

import pytest
from run_registers import key, register

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_harness.files import conversations, evidence, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.run.store import embargo
from zenoh_harness.run.store.embargo import FROM_START, guarded, is_public, kept_back, under_embargo, withheld
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

GRAVE = ["crash", "hang", "panic", "zombie"]
HARMLESS = [verdict.value for verdict in Verdict if verdict.value not in GRAVE]

SECRET = "what makes it die"


def died(verdict):
    return Judgement(key=key(), level="MUST", verdict=Verdict(verdict), cause=SECRET)


def said():
    return Conversation(events=[Event(0.0, "a", Side.INITIATOR, Happened.BYTES, b"\x00\x00")])


def written(folder):
    """All that stands in the folder of the results: names and contents."""
    every = [path for path in (folder / "out").rglob("*") if path.is_file()]
    return " ".join(f"{path.name} {path.read_bytes().decode(errors='replace')}" for path in every)


@pytest.mark.parametrize("public", [False, True], ids=["unknown", "public"])
@pytest.mark.parametrize("guarded", [False, True], ids=["own", "upstream"])
@pytest.mark.parametrize("verdict", [*GRAVE, *HARMLESS])
def test_every_verdict(verdict, guarded, public):
    due = verdict in GRAVE and guarded and not public
    assert under_embargo(died(verdict), guarded=guarded, public=public) is due


@pytest.mark.parametrize("verdict", GRAVE)
def test_a_node_that_never_worked_keeps_no_secret(verdict):
    """That it never did its work anybody sees; how its program ends is kept back all the same."""
    ill = Judgement(key=key(), level="MUST", verdict=Verdict(verdict), cause=f"{FROM_START}a push does not arrive")
    assert under_embargo(ill, guarded=True, public=False) is (verdict in ("crash", "panic"))


@pytest.mark.parametrize("name", ["zenoh-rust", "zenoh-pico", "zenohd", "Zenoh-Pico-1.5"])
def test_an_implementation_of_others_is_guarded_by_its_name(name):
    assert is_public(name)


@pytest.mark.parametrize("name", ["mynode", "zenoh", "zenoh-rusty", "my-zenoh-rust", "fake"])
def test_any_other_name_is_ones_own(name):
    assert not is_public(name)


@pytest.mark.parametrize("verdict", [*GRAVE, *HARMLESS])
def test_on_a_tap_that_changes_messages_only_the_end_of_the_program_is_kept_back(verdict):
    """Silence may be the doing of the tap."""
    assert under_embargo(died(verdict), guarded=True, public=False, changed=True) is (verdict in ("crash", "panic"))


@pytest.mark.parametrize("verdict", GRAVE)
@pytest.mark.parametrize("conversation", [None, said()], ids=["bare", "with-evidence"])
def test_a_grave_verdict_of_an_upstream_node_stands_in_the_data_folder_alone(tmp_path, verdict, conversation):
    made = register(tmp_path, guarded=True)
    judgement = made.add(key(bit="3"), Verdict(verdict), cause=SECRET, conversation=conversation)
    assert (judgement.embargo, judgement.evidence) == (True, None)
    assert results.read(tmp_path / "out/results.jsonl").judgements == []
    assert not any(word in written(tmp_path) for word in (SECRET, "close/one", verdict))
    [kept] = (tmp_path / "data").rglob("judgements.jsonl")
    assert json.loads(kept.read_text())["cause"] == SECRET
    assert len(list((tmp_path / "data").rglob("*.jsonl"))) == 1 + (conversation is not None)
    assert withheld("fake", "1.0", key().link, Known(), tmp_path / "data") == {"close/one[bit=3]"}
    for file in (tmp_path / "data").rglob("evidence/*.jsonl"):
        assert conversations.read(file).about["embargo"] == "upstream"


@pytest.mark.parametrize(("address", "left"), [("", {"close/one[bit=3]"}), ("https://here.example/1", set())])
def test_what_a_list_gives_an_address_for_is_run_again(tmp_path, address, left):
    """What was found before it was public lies in the user's folder still."""
    register(tmp_path, guarded=True).add(key(bit="3"), Verdict.PANIC, cause=SECRET)
    listed = ListedDeviation(verdict=Verdict.PANIC, cause=SECRET, reason="it may", check="close/one", public=address)
    assert withheld("fake", "1.0", key().link, Known([listed]), tmp_path / "data") == left


def test_what_was_found_over_another_link_is_run_over_this_one(tmp_path):
    register(tmp_path, guarded=True).add(key(bit="3"), Verdict.PANIC, cause=SECRET)
    assert withheld("fake", "1.0", "udp", Known(), tmp_path / "data") == frozenset()


def test_a_damaged_file_of_what_is_kept_is_named(tmp_path):
    register(tmp_path, guarded=True).add(key(bit="3"), Verdict.PANIC, cause=SECRET)
    [kept] = (tmp_path / "data").rglob("judgements.jsonl")
    kept.write_text("not JSON\n")
    with pytest.raises(FileFault, match=r"judgements\.jsonl"):
        withheld("fake", "1.0", key().link, Known(), tmp_path / "data")


@pytest.mark.parametrize("verdict", [*GRAVE, *HARMLESS])
@pytest.mark.parametrize(
    ("check", "guarded"),
    [
        pytest.param("close/one", False, id="a node of one's own"),
        pytest.param("scripts/one", True, id="a script that ships"),
    ],
)
def test_what_may_be_told_is_written(tmp_path, verdict, check, guarded):
    made = register(tmp_path, guarded=guarded)
    assert not made.add(key(check), Verdict(verdict), cause=SECRET).embargo
    assert [one.cause for one in results.read(tmp_path / "out/results.jsonl").judgements] == [SECRET]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("verdict", HARMLESS)
def test_what_is_not_grave_is_written_of_an_upstream_node_too(tmp_path, verdict):
    assert not register(tmp_path, guarded=True).add(key(), Verdict(verdict), cause=SECRET).embargo
    assert SECRET in written(tmp_path)


@pytest.mark.parametrize(("cause", "address"), [(SECRET, "https://x"), ("another death", "https://x"), (SECRET, "")])
@pytest.mark.parametrize("verdict", GRAVE)
def test_a_death_is_public_where_it_is_listed_with_its_cause_and_an_address(tmp_path, verdict, cause, address):
    listed = ListedDeviation(
        verdict=Verdict(verdict), cause=SECRET, reason="so it is", check="close/one", public=address
    )
    judgement = register(tmp_path, listed, guarded=True).add(key(), Verdict(verdict), cause=cause)
    public = bool(cause == SECRET and address)
    assert (judgement.embargo, judgement.verdict is Verdict.KNOWN) == (not public, cause == SECRET)
    assert ("close/one" in written(tmp_path)) is public


@pytest.mark.parametrize(
    ("reach", "word", "due"),
    [
        ("wheel:1.0.0", None, True),
        ("docker:eclipse/zenoh:1.9.0", None, True),
        ("docker:somebody/node:1.0", None, False),
        ("exec:x {port}", None, False),
        ("exec:x {port}?name=zenoh-rust", None, True),
        ("exec:x {port}", "upstream", True),
        ("docker:eclipse/zenoh:1.9.0", "own", False),
    ],
)
def test_whose_deaths_are_kept_back(reach, word, due):
    target = open_target(parse(reach))
    if word is not None:
        target.embargo = word
    assert guarded(target) is due


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
@pytest.mark.parametrize("place", ["embargo/fake-1.0/x.jsonl", "out/x.jsonl"])
def test_a_recording_is_kept_back_by_its_mark_and_by_its_place(tmp_path, place, marked):
    conversation = evidence.with_embargo_mark(said()) if marked else said()
    assert kept_back(tmp_path / place, conversation, tmp_path) is (marked or place.startswith("embargo/"))


def test_what_is_kept_is_the_users_alone_in_the_order_in_which_it_fell(tmp_path):
    """Nobody else on the machine reads what makes a release die."""
    places = {embargo.keep(died(verdict), tmp_path) for verdict in ("panic", "crash")}
    assert places == {tmp_path / "embargo/fake-1.0"}
    assert [one.verdict.value for one in embargo.kept_judgements("fake", "1.0", tmp_path)] == ["panic", "crash"]
    for folder in (tmp_path / "embargo", *places):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_data_folder_is_the_users_unless_another_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(embargo, "user_data_path", lambda name: tmp_path / name)
    embargo.keep(died("panic"), tmp_path / "other")
    assert not (tmp_path / "zenoh-conformance").exists()
    assert embargo.folder() == embargo.folder() == tmp_path / "zenoh-conformance/embargo"


def test_of_a_version_without_findings_nothing_is_kept_back(tmp_path):
    assert withheld("fake", "1.0", key().link, Known(), tmp_path) == frozenset()
    assert embargo.version_folder("fake", "", tmp_path).name == "fake-unknown"


def test_the_name_in_the_target_string_says_whose_it_is():
    node = SimpleNamespace(
        reach=SimpleNamespace(options={"name": "zenoh-rust"}), identity=SimpleNamespace(name="mynode")
    )
    assert guarded(node)


@pytest.mark.parametrize("address", ["https://here.example/1", ""])
def test_what_an_erratum_gives_an_address_for_is_public(monkeypatch, address):
    known = {key().requirement: SimpleNamespace(erratum=("no-erratum", "one"))}
    monkeypatch.setattr(embargo, "requirements", lambda: known)
    monkeypatch.setattr(embargo, "errata", lambda: {"one": SimpleNamespace(public=address)})
    assert embargo.public(died("panic"), None) is bool(address)


def test_the_count_of_findings_is_a_sentence():
    told = "embargoed: kept in your data folder, counted here and told nowhere"
    assert [embargo.count_line(count) for count in (1, 2)] == [f"1 finding is {told}", f"2 findings are {told}"]

"""Common mistakes at the command line: each is found before any work begins, and answered with what to do instead.

No target is started here: everything that is wrong is wrong before that.
"""

import io
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke, printable
from zenoh_harness.errors import UsageError

ENTRY = """\
[[deviation]]
check = "establishment-cookie/a-changed-cookie-is-refused"
verdict = "fail"
cause = "x"
reason = "y"
owner = "us"
"""
LISTS = {
    "right": ENTRY,
    "twice": ENTRY + ENTRY,
    "merge": f"<<<<<<< HEAD\n{ENTRY}=======\n>>>>>>> other\n",
    "field": ENTRY.replace("reason", "reson"),
    "stale": ENTRY.replace("a-changed-cookie", "a-changd-cookie"),
    "verdict": ENTRY.replace('"fail"', '"fails"'),
    "table": ENTRY.replace("[[deviation]]", "[deviation]"),
    "date": ENTRY + 'expires = "31.12.2026"\n',
    "nocause": ENTRY.replace('"x"', '"*"'),
    "noreason": ENTRY.replace('"y"', '""'),
    "noowner": ENTRY.replace('owner = "us"', ""),
    "flaky": ENTRY.replace('"fail"', '"flaky"'),
    "text": "all is well\n",
    "bare": ENTRY + ENTRY.replace('"fail"', "fail"),
    "versions": ENTRY + 'versions = "1.x"\n',
    "role": ENTRY + 'role = "server"\n',
}
GATE = "gate reference --known"

MISTAKES = [
    # targets
    ("ran reference", "did you mean run"),
    ("run referense", "did you mean reference?"),
    ("run refrence:", "did you mean reference"),
    ("run docker", "write docker:IMAGE"),
    ("run exec:", "write exec:COMMAND"),
    ("run stdio:", "write stdio:COMMAND"),
    ("run tcp/localhost", "as in tcp/127.0.0.1:7447"),
    ("run tcp/127.0.0.1:99999", "past 65535"),
    ("run faulty:believes-any-cooky", "did you mean believes-any-cookie"),
    ("run faulty:nope", "`zconform faulty` prints all of them"),
    ("run variant:nope", "hint   the nearest of"),
    ("run quic/127.0.0.1:7447", "hint   use wheel, exec:, docker:"),
    ("run 'reference?rol=router'", "did you mean role"),
    ("run 'reference?role=rooter'", "did you mean router?"),
    ("run 'reference?profile=nope'", "known: all-on-the-link"),
    ("matrix wheel:2.0.0..1.0.0", "it knows"),
    ("peer --listen nope", "as in tcp/127.0.0.1:7447"),
    ("interop reference", "at least two targets"),
    # the second of several is looked for before the first is judged
    ("run reference faulty:believes-any-cooky", "did you mean believes-any-cookie"),
    ("run reference 'reference?profile=nope'", "known: all-on-the-link"),
    ("run reference stdio:./no-such-program", "there is no program './no-such-program'"),
    ("run reference lib:./no.so", "there is no library ./no.so"),
    ("run reference python:no_such_module:f", "no module 'no_such_module'"),
    ("matrix reference referense", "did you mean reference?"),
    ("matrix reference faulty:believes-any-cooky", "did you mean believes-any-cookie"),
    ("matrix reference --bisect nope", "zconform"),
    ("interop reference wheel faulty:believes-any-cooky", "did you mean believes-any-cookie"),
    ("interop reference stdio:cat", "stdio"),
    ("interop reference reference --only reconecting", "did you mean"),
    ("learn reference referense", "did you mean reference?"),
    ("learn reference 'reference?as=initiator'", "only responders can be learned"),
    ("replay two-frames-in-one-batch reference --against referense", "did you mean reference?"),
    ("replay two-frames-in-one-batch reference --save no/such", "there is no folder no"),
    ("probe reference --out no/such.json", "there is no folder no"),
    ("fuzz codec decod", "did you mean decode?"),
    ("fuzz codec decode --time soon", "write 20s, 5m or 1h"),
    ("fuzz codec decode --layer nope", "unknown layer"),
    ("fuzz codec differential --target referense", "did you mean reference?"),
    ("fuzz codec differential --target wheel", "wheel is not a codec"),
    ("fuzz codec differential --target lib:./no.so", "there is no library ./no.so"),
    ("report nope", "does not exist"),
    ("report empty --since none.jsonl", "none.jsonl"),
    ("run reference --judged text.known.toml", "expected `role profile page/requirement`"),
    ("run reference --junit empty", "is a directory"),
    # what is selected, and how it is run
    ("run reference --only nope", "zconform requirements list"),
    ("run reference --only establishment-cookie", "write 'establishment-cookie/*' for all of it"),
    ("run reference --only establishment-cookie/a-changd-cookie-is-refused", "a-changed-cookie-is-refused"),
    ("run reference --depht quick", "--depth"),
    ("run reference --depth fast", "'quick', 'full', 'nightly'"),
    ("run reference --jobs 0", "1<=x<=256"),
    ("run reference --jobs many", "'many'"),
    ("run reference --seed abc", "'abc'"),
    ("run reference --budget soon", "as in 90s, 10m or 1h"),
    ("run reference --shard 3/2", "as in 2/3"),
    ("run reference --shard two", "as in 2/3"),
    ("run reference --repeat 0", "1<=x<=1000"),
    ("run reference --repeat 2 --keep", "leave out --last-failed and --keep"),
    ("run reference --last-failed --out empty", "there are no results in empty"),
    ("run reference --last-failed --only 'close/*'", "leave out --only"),
    ("run reference --max-fail -1", "x>=1"),
    # files
    ("run reference --known nope", "known: zenoh-rust"),
    ("run reference --known twice.known.toml", "entry 2: says what entry 1 says"),
    ("run reference --junit no/such/j.xml", "there is no folder no/such"),
    ("run reference --sarif no/such/j.sarif", "there is no folder no/such"),
    ("run reference --accept", "--judged FILE"),
    ("run reference --judged nope.judged", "add --accept"),
    ("run reference --out right.known.toml", "is a file"),
    ("merge", "Missing argument 'RESULTS...'"),
    ("merge empty --out o", "empty/results.jsonl: there are no results"),
    ("merge nope --out o", "does not exist"),
    ("merge empty --out empty", "also one of RESULTS"),
    ("diff none.jsonl none.jsonl", "is empty"),
    ("diff half.jsonl half.jsonl", "expected the header"),
    ("explain 0g", "neither hexadecimal nor a file"),
    ("explain 0", "odd number"),
    ("explain", "zconform explain --help"),
    ("replay script", "begins with the line `script 1`"),
    ("replay nope reference", "no script 'nope'"),
    # the gate and its list
    ("gate reference", "Missing option '--known'"),
    ("gate referense --known right.known.toml", "did you mean reference?"),
    ("gate updat reference --known right.known.toml", "did you mean gate update?"),
    ("gate init reference --known right.known.toml", "gate update edits it"),
    ("gate init reference --known none.jsonl/such.known.toml", "cannot make the folder none.jsonl"),
    (f"{GATE} rigt.known.toml", "did you mean right.known.toml"),
    (f"{GATE} twice.known.toml", "entry 2: says what entry 1 says"),
    (f"{GATE} merge.known.toml", "merge.known.toml:1: has the conflict marks of a merge"),
    (f"{GATE} field.known.toml", "did you mean reason"),
    (f"{GATE} stale.known.toml", "did you mean establishment-cookie/a-changed-cookie-is-refused"),
    (f"{GATE} verdict.known.toml", "one of fail, warn"),
    (f"{GATE} table.known.toml", "must be written [[deviation]]"),
    (f"{GATE} date.known.toml", "as in 2027-01-31"),
    (f"{GATE} nocause.known.toml", "'cause' must say what is expected"),
    (f"{GATE} noreason.known.toml", "'reason' must say why"),
    (f"{GATE} noowner.known.toml", "who looks after it"),
    (f"{GATE} flaky.known.toml", "needs 'owner' and 'expires'"),
    (f"{GATE} text.known.toml", "text.known.toml:1: is no TOML: Expected '='"),
    (f"{GATE} bare.known.toml", "bare.known.toml:9: is no TOML, entry 2: "),
    (f"{GATE} latin.known.toml", "latin.known.toml:5: is no TOML, entry 1: byte 0xfc is not UTF-8"),
    (f"{GATE} versions.known.toml", 'as in ">=1.0.0,<1.10"'),
    (f"{GATE} role.known.toml", "known: codec, initiator, responder"),
    (f"{GATE} right.known.toml --require 2.0.0", "did you mean 1.0.0?"),
    (f"{GATE} right.known.toml --summary no/such.md", "there is no folder no"),
    # what there is to look up
    ("cases show nope", "hint   the nearest of"),
    ("cases list nope", "`zconform cases list` prints all of them"),
    ("laws show nope", "hint   the nearest of"),
    ("variants nope", "hint   the nearest of"),
    ("vectors show nope", "`zconform vectors list` prints all of them"),
    ("audit text.known.toml", "is no capture and no recorded conversation, but text"),
    ("laws judge empty", "name a file in that folder"),
    ("requirements show nope", "zconform requirements list prints all of them"),
    ("faulty nope --run", "unknown faulty node 'nope'"),
    ("probe", "Missing argument 'TARGET'"),
    ("smoke", "Missing argument 'TARGET'"),
    ("tap", "Missing option '--listen'"),
    ("codec nope", "zconform codec --help"),
]  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with what somebody might have there; nothing is written into it."""
    folder = tmp_path_factory.mktemp("desk")
    for name, text in LISTS.items():
        (folder / f"{name}.known.toml").write_text(text)
    (folder / "latin.known.toml").write_bytes(ENTRY.replace('"y"', '"für"').encode("latin-1"))
    (folder / "empty").mkdir()
    (folder / "none.jsonl").write_text("")
    (folder / "half.jsonl").write_text('{"type":"judgement"}\n')
    (folder / "script").write_text("hello\n")
    return folder


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a package that is compiled here for the first time
@pytest.mark.parametrize(("line", "says"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_2_and_says_what_to_do(line, says, desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    before = sorted(desk.rglob("*"))
    assert invoke(shlex.split(line)) == 2
    text = capsys.readouterr().err
    assert says in text
    assert text.startswith("zconform: ")
    assert "Traceback" not in text
    assert len(text.splitlines()) <= 6
    after = sorted(desk.rglob("*"))
    assert after == before


def test_windows_line_ends_and_a_byte_order_mark_are_no_mistake(tmp_path):
    from zenoh_harness.gate import entries

    path = tmp_path / "t.known.toml"
    path.write_bytes(b"\xef\xbb\xbf" + ENTRY.replace("\n", "\r\n").encode())
    (one,) = entries.read_entries(path)
    assert (one.lines.first, one.lines.last) == (1, 6)


def test_a_list_that_cannot_be_written_is_said_in_one_line(tmp_path):
    from zenoh_harness.gate import editing

    (tmp_path / "folder.known.toml").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        editing.write_list(tmp_path / "folder.known.toml", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.known.toml"]


def test_what_an_encoding_lacks_is_printed_as_an_escape(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    printable()
    print("é")
    narrow.flush()
    assert narrow.buffer.getvalue() == b"\\xe9\n"


def test_a_closed_output_is_no_fault(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert invoke(["cases", "list", "close/*"]) == 0


@pytest.mark.needs("full-device")
def test_a_full_disk_is_told_in_one_line():
    with Path("/dev/full").open("wb") as full:
        line = [sys.executable, "-m", "zenoh_harness.cli", "cases", "list", "close/*"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "zconform: cannot write: No space left on device\n")


@pytest.mark.parametrize(
    "line", ["run reference --out {}", "interop reference wheel --out {}", "report empty --out {}"]
)
def test_a_folder_that_cannot_be_written_is_told_before_the_work(line, desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    assert invoke(shlex.split(line.format("none.jsonl/out"))) == 3
    text = capsys.readouterr().err
    assert text.startswith("zconform: cannot write into none.jsonl/out")
    assert "none.jsonl is no folder" in text


def test_a_folder_of_somebody_else_is_told(tmp_path, monkeypatch):
    """Root may write anywhere: the answer of the system is replaced."""
    from zenoh_harness.errors import CannotGoOn
    from zenoh_harness.files import writable

    monkeypatch.setattr(writable.os, "access", lambda *_: False)
    with pytest.raises(CannotGoOn) as told:
        writable.check_folders(None, tmp_path / "a" / "b")
    assert f"{tmp_path} may not be written" in str(told.value)
    with pytest.raises(UsageError, match="cannot write"):
        writable.check_files(None, tmp_path / "x.xml")


def test_a_hint_names_only_kinds_that_can_be_reached(capsys):
    """Kinds that are reserved are in no hint: nobody can use them."""
    assert invoke(["run", "nope"]) == 2
    said = capsys.readouterr().err
    assert "tcp" in said
    assert not {"quic", "serial", "vsock"} & set(said.replace(",", " ").split())

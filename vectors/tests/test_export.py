"""What is given away works by itself: in a process that has nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile

import pytest

from zenoh_vectors import params, seeds
from zenoh_vectors.export import FOLDER, export
from zenoh_vectors.loader import load

pytestmark = pytest.mark.long

REFUSES_ALL = "def decode(data):\n    raise ValueError('no')\n"
ACCEPTS_ALL = "def decode(data, layer):\n    return {}\n"
BY_HEART = """
import json, pathlib
KNOWN = {}
for file in sorted(pathlib.Path({data!r}).glob("*.json")):
    for vector in json.loads(file.read_text("utf-8"))["vectors"]:
        for piece in vector.get("steps", [vector]):
            KNOWN.setdefault((piece["layer"], piece["bytes"]), piece.get("also", [piece.get("means")])[-1])

def decode(data, layer):
    means = KNOWN[layer, data.hex()]
    if means is None:
        raise ValueError("no message")
    return means
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    assert export(folder) > 20
    return folder


def run(archive, tmp_path, decoder, *layers, named="mine:decode"):
    (tmp_path / "mine.py").write_text(decoder)
    arguments = ["consumer.py", *([named] if named else []), *layers]
    start = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = {arguments!r}; "
    start += f"runpy.run_path({str(archive / 'consumer.py')!r}, run_name='__main__')"
    command = [sys.executable, "-I", "-c", start]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env={}, check=False)


def test_the_consumer_passes_a_decoder_that_knows_the_vectors(archive, tmp_path):
    ended = run(archive, tmp_path, BY_HEART.replace("{data!r}", repr(str(archive / "data"))))
    assert ended.returncode == 0, ended.stdout[-500:] + ended.stderr[-500:]
    assert "'FAIL': 0" in ended.stdout


def test_the_consumer_fails_one_that_refuses_all(archive, tmp_path):
    ended = run(archive, tmp_path, REFUSES_ALL, "transport")
    assert ended.returncode == 1 and "FAIL open/syn-in-seconds: refused" in ended.stdout


def test_the_consumer_fails_one_that_accepts_all(archive, tmp_path):
    ended = run(archive, tmp_path, ACCEPTS_ALL)
    assert ended.returncode == 1
    assert "FAIL init/whatami-unassigned: accepted as {}, must be refused at byte 2: illegal-value" in ended.stdout


WRITES = """
WRITTEN = {}
for file in sorted(pathlib.Path({data!r}).glob("*.json")):
    for vector in json.loads(file.read_text("utf-8"))["vectors"]:
        for piece in vector.get("steps", [vector]):
            if piece.get("canonical"):
                WRITTEN[piece["layer"], json.dumps(piece["means"])] = bytes.fromhex(piece["bytes"])

def encode(means, layer):
    return WRITTEN[layer, json.dumps(means)]

def reverse(means, layer):
    return encode(means, layer)[::-1]
"""


def test_the_consumer_holds_an_encoder_to_the_bytes(archive, tmp_path):
    codec = (BY_HEART + WRITES).replace("{data!r}", repr(str(archive / "data")))

    right = run(archive, tmp_path, codec, named="mine:decode:encode")
    wrong = run(archive, tmp_path, codec, "scouting", named="mine:decode:reverse")

    assert right.returncode == 0, right.stdout[-500:] + right.stderr[-500:]
    assert wrong.returncode == 1 and "written as" in wrong.stdout


@pytest.mark.parametrize("named", ["", "mine", "nothing:decode", "mine:nothing"])
def test_the_consumers_first_error_is_a_sentence(archive, tmp_path, named):
    ended = run(archive, tmp_path, REFUSES_ALL, named=named)

    assert ended.returncode == 2
    assert (
        ended.stderr.startswith("Name your codec: python consumer.py MODULE:DECODE") and ended.stderr.count("\n") == 1
    )


def test_the_consumer_is_short_and_has_nothing_of_ours(archive):
    text = (archive / "consumer.py").read_text()
    assert len(text.splitlines()) <= 60 and "zenoh" not in text


def test_the_archive_tells_its_contract_on_a_page(archive):
    readme = (archive / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 60
    schema = json.loads((archive / "vectors.schema.json").read_text(encoding="utf-8"))
    for field in schema["$defs"]["vector"]["properties"]:
        assert f"`{field}`" in readme, f"the README does not tell {field}"


def test_the_archive_names_messages_and_extensions(archive):
    names = (archive / "NAMES.md").read_text(encoding="utf-8")
    assert "| `open` | 0x02 |" in names and "| `d_final` | 0x1a |" in names
    assert "| `request` | `QueryTarget` | 0x4 | z64 | yes |" in names and "Unknown" not in names


def test_the_archive_tells_the_form_of_joins_numbers(archive):
    names = (archive / "NAMES.md").read_text()
    assert "| `sns[0][0]` | 0 Control, reliable | `sns[0].reliable` |" in names
    assert "| `sns[7][1]` | 7 Background, best_effort | `sns[7].best_effort` |" in names


def test_the_packed_archive_is_the_same_each_time(tmp_path):
    export(tmp_path / "a.tar.gz")
    export(tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert f"{FOLDER}/consumer.py" in tar.getnames()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(FileExistsError):
        export(tmp_path)


C_CODECS = {
    "echo": "memcpy(out, data, size); return (long)size;",
    "refuses": "return -1;",
    "no-layer": "return -2;",
}
JAVA_CODECS = {
    "echo": "return data;",
    "refuses": 'throw new IllegalArgumentException("no");',
    "no-layer": "return null;",
}
SAID = {"echo": "accepted, must be refused", "refuses": ": refused", "no-layer": "FAIL 0"}


def c_consumer(archive, folder, body):
    """The command of the consumer with a codec that does this."""
    text = f"""#include <string.h>
long zenoh_read(const char *layer, const unsigned char *data, size_t size, unsigned char *out, size_t room)
{{ (void)layer; (void)data; (void)size; (void)out; (void)room; {body} }}
"""
    (folder / "mine.c").write_text(text)
    build = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", archive / "consumer.c", "mine.c", "-o", "consumer"]
    subprocess.run(build, cwd=folder, check=True)
    return [str(folder / "consumer"), str(archive / "vectors.tsv")]


def java_consumer(archive, folder, body):
    """The same in Java."""
    text = "public class Mine implements java.util.function.BiFunction<String, byte[], byte[]> {"
    (folder / "Mine.java").write_text(f"{text} public byte[] apply(String layer, byte[] data) {{ {body} }} }}")
    subprocess.run(["javac", "-d", ".", archive / "Consumer.java", "Mine.java"], cwd=folder, check=True)
    return ["java", "-cp", str(folder), "Consumer", str(archive / "vectors.tsv"), "Mine"]


@pytest.mark.parametrize("codec", SAID)
@pytest.mark.parametrize(
    ("consumer", "codecs"),
    [
        pytest.param(c_consumer, C_CODECS, id="c", marks=pytest.mark.needs("cc")),
        pytest.param(java_consumer, JAVA_CODECS, id="java", marks=pytest.mark.needs("javac")),
    ],
)
def test_the_other_consumers_see_refusals_and_bytes(archive, tmp_path, consumer, codecs, codec):
    command = consumer(archive, tmp_path, codecs[codec])
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == (codec != "no-layer") and SAID[codec] in ended.stdout
    if codec == "echo":
        wrong = {line.split()[1][:-1] for line in ended.stdout.splitlines() if line.startswith("FAIL ")}
        refused = {vector.id for vector in load() if any(part.refuses for part in vector.parts)}
        assert wrong <= refused and len(wrong) > 0.9 * len(refused)


def test_the_lines_are_the_vectors(archive):
    rows = [line.split("\t") for line in (archive / "vectors.tsv").read_text().splitlines() if line[0] != "#"]
    assert len(rows) == sum(len(vector.parts) for vector in load()) and {len(row) for row in rows} == {5}
    assert (archive / "VERSION").read_text().strip() in FOLDER


@pytest.mark.parametrize("vector", params.vector_params(layer="scouting", refused=True))
def test_vectors_are_pytest_parameters(vector):
    assert vector.refuses is not None and vector.layer == "scouting"


def test_parameters_are_named_by_their_ids(vectors):
    names = [name for name, _ in params.select()]
    assert len(names) == len(set(names)) and "handshake/plain[0]" in names and "open/syn-in-seconds" in names
    assert {name for name, _ in params.select(prefix="vle/")} == {v.id for v in vectors if v.id.startswith("vle/")}


def test_the_seed_corpus_has_each_input_once(tmp_path, vectors):
    count = seeds.write_corpus(tmp_path / "seeds", layer=("transport", "network"))
    files = sorted((tmp_path / "seeds").iterdir())
    assert count == len(files) == len({file.read_bytes() for file in files})
    assert {file.read_bytes() for file in files} == {
        p.data for v in vectors for p in v.parts if p.layer in ("transport", "network")
    }

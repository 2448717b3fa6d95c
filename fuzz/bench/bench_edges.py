"""Edges of zenoh-codec that each fuzzer reaches in equal CPU time, all corpora replayed on one build.

    python fuzz/bench/bench_edges.py [SECONDS...] [--seeds N]

Beside ours stand plain libFuzzer targets in `upstream/`: bytes read as a transport message, and nine shapes of network message. Ours
runs the oracle `differential` on the library with counters, from nothing and from the golden vectors. CPU time is what the
process gets, its start included; the machine may be busy.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from zenoh_fuzz import inputs
from zenoh_fuzz.campaign.workers import corpus_files, prepare_worker
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.oracle import oracle_without_targets
from zenoh_fuzz.worker.launcher import environment
from zenoh_fuzz.worker.plan import WorkerPlan
from zenoh_harness.codecs import build
from zenoh_harness.programs.environments import cache_folder

HERE = Path(__file__).parent
TARGET = "lib:zenoh-codec@1.10.2"
FRAME = bytes.fromhex("2500")
"""Before a network message, to be read as a transport message."""


def plain_targets() -> Path:
    """The folder with the plain targets, built."""
    target = cache_folder() / "targets" / "cargo-plain-fuzz"
    flags = " ".join(("--cfg fuzzing", *build.COUNTERS))
    command = [
        build.find_cargo(),
        "build",
        "--release",
        "--quiet",
        "--target",
        build.host(),
        "--manifest-path",
        str(HERE / "upstream" / "Cargo.toml"),
    ]
    subprocess.run(command, check=True, env=os.environ | {"RUSTFLAGS": flags, "CARGO_TARGET_DIR": str(target)})
    return target / build.host() / "release"


def limited(seconds: int) -> None:
    """In the child: this much CPU time, then the end."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def run(command: list[str], seconds: int, **env: str) -> None:
    """Run until the CPU time is used up."""
    subprocess.run(command, env=environment() | env, preexec_fn=lambda: limited(seconds), check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds * 60)  # fmt: skip


def plain(folder: Path, binary: Path, seconds: int, seed: int) -> Iterator[bytes]:
    """What a plain target leaves, as transport messages."""
    corpus, saved = folder / "corpus", folder / "saved"
    corpus.mkdir()
    saved.mkdir()
    structured = binary.name == "network_message"
    run([str(binary), f"-seed={seed}", "-max_len=4096", str(corpus)], seconds)
    if structured:
        subprocess.run([str(binary), "-runs=0", str(corpus)], env=os.environ | {"ZCONFORM_SAVE": str(saved)}, check=False,
                       stderr=subprocess.DEVNULL)  # fmt: skip
    for path in corpus_files(saved if structured else corpus):
        yield FRAME + path.read_bytes() if structured else path.read_bytes()


def ours(folder: Path, seconds: int, seed: int, *, with_seeds: bool) -> Iterator[bytes]:
    """What our oracle leaves, as transport messages."""
    corpus = folder / "corpus"
    corpus.mkdir()
    oracle = oracle_without_targets("differential")
    if with_seeds:
        seeds.write_corpus(folder / "seeds", oracle.seeds(), largest=oracle.largest)
    (folder / "dictionary").write_text(seeds.dictionary(oracle.words()))
    one = prepare_worker(
        0,
        WorkerPlan(
            oracle="differential", targets=(TARGET,), folder=folder / "w", corpus=corpus, first=False, layers=(0, 1, 3)
        ),
    )
    sources = [str(corpus), str(folder / "seeds")] if with_seeds else [str(corpus)]
    run(
        [str(one.launcher.program), f"-seed={seed}", "-max_len=4096", f"-dict={folder / 'dictionary'}", *sources],
        seconds,
    )
    one.launcher.close()
    for place in sources:
        for path in corpus_files(Path(place)):
            number, message = inputs.split_input(path.read_bytes())
            yield FRAME + message if number == 1 else message


def edges(binary: Path, messages: Iterator[bytes]) -> int:
    """Edges that a corpus reaches, on the plain target of bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for index, message in enumerate(messages):
            (Path(folder) / str(index)).write_bytes(message)
        done = subprocess.run(
            [str(binary), "-runs=0", "-max_len=65536", folder], capture_output=True, text=True, check=False
        )
    found = re.findall(r"cov: (\d+)", done.stderr)
    return int(found[-1]) if found else 0


def main() -> None:
    """Print a row a fuzzer and a time."""
    words = [word for word in sys.argv[1:] if word.isdigit()]
    count = int(words.pop()) if "--seeds" in sys.argv else 3
    times = [int(word) for word in words] or [5, 60]
    folder = plain_targets()
    on = folder / "transport_message"
    runs = {
        "plain, bytes": lambda place, seconds, seed: plain(place, on, seconds, seed),
        "plain, nine shapes": lambda place, seconds, seed: plain(place, folder / "network_message", seconds, seed),
        "ours, from nothing": lambda place, seconds, seed: ours(place, seconds, seed, with_seeds=False),
        "ours, from vectors": lambda place, seconds, seed: ours(place, seconds, seed, with_seeds=True),
    }  # fmt: skip
    for seconds in times:
        for name, fuzz in runs.items():
            found = []
            for seed in range(1, count + 1):
                place = Path(tempfile.mkdtemp())
                found.append(edges(on, fuzz(place, seconds, seed)))
                shutil.rmtree(place)
            print(
                f"{seconds:>4} CPU s  {name:<20} median {statistics.median(found):>6.0f} edges of {found}", flush=True
            )


if __name__ == "__main__":
    main()

"""Toy codecs that tell no meaning, beside ours: the oracles notice each planted fault, and nothing where there is none."""

import subprocess
from functools import cache
from pathlib import Path

import pytest
from toy_codecs import each, make_toy

from zenoh_conformance.wire import vle
from zenoh_fuzz import inputs, oracle
from zenoh_fuzz.compare.targets import open_codecs
from zenoh_fuzz.inputs import seeds
from zenoh_fuzz.mutators import systematic

KINDS = {"c": ((0, 1, 2, 3, 4), (5, None)), "java": ((2, 1, 2), (5, None)), "python": ((1, 0x1A, 0x1D),)}
"""By language: number of a layer, and the messages that the toy knows; None stands for all."""

SKIPPED = {("java", 4), ("java", 5), ("python", 9), ("c", 3), ("python", 3), ("python", 8)}
"""Streams and keys are no inputs of this oracle; the order of extensions and the length of integers are free to a codec."""


@cache
def known_inputs(language):
    """Seeds and systematic inputs of the messages that a toy knows."""
    found = []
    for data in {*seeds.message_seeds(), *systematic.message_inputs()}:
        number, message = inputs.split_input(data)
        for layer, *ids in KINDS[language]:
            if number == layer and message and (None in ids or message[0] & 0x1F in ids):
                found.append(data)
    return sorted(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the toys are compiled."""
    return tmp_path_factory.mktemp("toys")


@pytest.mark.parametrize(("language", "fault"), each(without=SKIPPED))
def test_differential_notices_a_fault_and_nothing_else(folder, language, fault):
    targets = open_codecs([make_toy(folder, language, fault)])
    try:
        found = next(findings(oracle.make_oracle("differential", targets), known_inputs(language)), None)
    finally:
        for target in targets:
            target.close()
    assert (found is not None) is bool(fault), found


@pytest.mark.needs("cc")
def test_a_codec_that_does_not_write_again_is_not_charged_with_it(tmp_path):
    """The template in C tells meanings, and writes only what it is asked to encode."""
    template = Path(__file__).resolve().parents[2] / "docs/pages/adapters/codec.c"
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "codec", template], check=True)
    [target] = open_codecs([f"stdio:{tmp_path / 'codec'}"])
    whole = [vle.encode(value) for value in seeds.EDGES]  # it refuses bytes behind an integer itself
    data = [inputs.make_input("vle", one) for one in whole]
    found = [one.signature for one in findings(oracle.make_oracle("differential", (target,)), data)]
    target.close()
    assert found == []


def findings(made, data):
    """What an oracle finds, with the answers of targets that wait."""
    for one in data:
        yield from oracle.judge_input(made, one)
    yield from made.rest()

"""Toy codecs that tell no meaning, against the vectors: each planted fault is noticed, and none is red without one."""

from collections import Counter
from fnmatch import fnmatchcase

import pytest
from toy_codecs import each, make_toy

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.run.vectors.answers import judge_vector, requests
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import open_codec

FAMILIES = {
    "c": ("init/*", "open/*", "close/*", "keep-alive/*", "vle/*"),
    "java": ("scout/*", "hello/*", "vle/*", "stream/*", "fragments/*"),
    "python": ("push/*", "put/*", "del/*", "encoding/*", "response-final/*", "keyexpr/*"),
}

pytestmark = pytest.mark.spread


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the toys are compiled."""
    return tmp_path_factory.mktemp("toys")


def judged(target, patterns):
    """The verdicts on the vectors of these families, counted."""
    vectors = [one for one in golden() if any(fnmatchcase(one.id, pattern) for pattern in patterns)]
    with open_codec(find(target)) as codec:
        answers = codec.ask(request for vector in vectors for request in requests(vector, codec.layers))
        return Counter(judge_vector(vector, codec.layers, answers).verdict for vector in vectors)


@pytest.mark.parametrize(("language", "fault"), each())
def test_a_fault_is_noticed_and_what_is_right_is_not_red(folder, language, fault):
    verdicts = judged(make_toy(folder, language, fault), FAMILIES[language])
    assert (verdicts[Verdict.FAIL] > 0) is bool(fault), verdicts
    assert set(verdicts) <= {Verdict.PASS, Verdict.FAIL, Verdict.UNIMPLEMENTED, Verdict.NOT_APPLICABLE}
    assert verdicts[Verdict.PASS] > 100


@pytest.mark.needs("cc")
@pytest.mark.parametrize(("fault", "code"), [(0, 0), (1, 1)])
def test_the_command_fails_for_a_codec_that_loses_the_unit_of_a_lease(folder, fault, code, capsys):
    assert invoke(["vectors", "check", make_toy(folder, "c", fault), "--only", "open/syn-in-*"]) == code
    assert ("fail           open/syn-in-seconds" in capsys.readouterr().out) is bool(code)

"""The codec and the agent in Java that the documentation gives as templates: compiled, judged, held to the schemas."""

import subprocess
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.errors import AgentUnimplemented
from zenoh_harness.files import results
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.targets.agent import AgentClient

ADAPTERS = Path(__file__).resolve().parents[3] / "docs/pages/adapters"
RIGHT, WRONG = "bytes[at] & 0x7f", "bytes[at] & 0x3f"

pytestmark = pytest.mark.needs("javac")


def compiled(folder, name, right="", wrong=""):
    text = (ADAPTERS / f"{name}.java").read_text()
    assert right in text
    (folder / f"{name}.java").write_text(text.replace(right, wrong, 1) if right else text)
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", folder, folder / f"{name}.java"], check=True)
    return ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", str(folder), name]


@pytest.mark.parametrize("right", ["", RIGHT], ids=["as-it-is", "with-a-fault"])
def test_the_codec_is_right_and_a_fault_planted_in_it_is_found(tmp_path, right):
    command = compiled(tmp_path, "Codec", right, WRONG)
    words = ["--only", "vectors/vle/*", "--only", "vectors/close/*", "--out", f"{tmp_path}/r", "-q"]
    assert invoke(["run", f"stdio:{' '.join(command)}", *words]) == (1 if right else 0)
    said = {one.key.check: one.verdict for one in results.read(tmp_path / "r").judgements}
    vle = {check: verdict for check, verdict in said.items() if check.startswith("vectors/vle/")}
    assert len(vle) > 50
    assert (set(vle.values()) == {Verdict.PASS}) is not bool(right)
    assert {verdict for check, verdict in said.items() if "/close/" in check} == {Verdict.UNIMPLEMENTED}


def test_the_agent_keeps_to_the_line_protocol(tmp_path):
    with processes.start(compiled(tmp_path, "Agent"), interactive=True) as program:
        agent = AgentClient.over(program, validate=True)
        assert agent.introduction(Deadline.after(20))["language"] == "Java"
        assert not agent.knows("levitate")
        assert agent.knows("put")
        with pytest.raises(AgentUnimplemented):
            agent.ask("declare_token", id="t", key="t")
        agent.ask("declare_subscriber", id="s", key="t/a")
        agent.ask("put", key="t/a", payload="0aff")
        agent.ask("put", key="t/b", payload="00")
        agent.ask("declare_queryable", id="q", key="t/a", plan=[{"reply": "01"}, {"reply": "02"}])
        agent.ask("get", id="g", key="t/a")
        agent.ask("undeclare", id="s")
        agent.ask("put", key="t/a", payload="0b")
        told = [(one["event"], one["id"], one.get("payload")) for one in agent.events(5, 5)]
        assert told == [
            ("sample", "s", "0aff"),
            ("query", "q", None),
            ("reply", "g", "01"),
            ("reply", "g", "02"),
            ("end", "g", None),
        ]
        assert agent.events(1, 0) == []
        assert agent.ask("close")["ok"]

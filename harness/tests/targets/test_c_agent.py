"""The client with an agent in C that the documentation gives as a template: compiled, judged, right; and red with a fault planted."""

import subprocess
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.errors import AgentError, AgentUnimplemented
from zenoh_harness.files import results
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.targets.agent import AgentClient

SOURCE = Path(__file__).resolve().parents[3] / "docs/pages/adapters/agent.c"
IDLE = {Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED}

pytestmark = pytest.mark.needs("cc")


def compiled(folder, text):
    (folder / "agent.c").write_text(text)
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", folder / "agent", folder / "agent.c"]
    subprocess.run(command, check=True)
    return f"{folder}/agent"


def judged(folder, text, *only):
    """The judgements on the client of that source, by check and parameters."""
    client = f"exec:{compiled(folder, text)} {{locator}}?role=client&agent=stdio"
    words = [word for check in only for word in ("--only", check)]
    code = invoke(["run", client, "--depth", "quick", "--out", f"{folder}/r", "-q", *words])
    return code, [(one.key.check, one) for one in results.read(folder / "r").judgements]


def test_the_template_is_right_in_a_scene(tmp_path):
    code, said = judged(tmp_path, SOURCE.read_text(), "application/*", "initiator-init-ack/*", "law/*")
    assert [(check, one.verdict, one.cause) for check, one in said if one.verdict not in IDLE] == []
    assert code == 0
    held = {check for check, one in said if one.verdict is Verdict.PASS}
    assert held > {
        "application/an-application-publishes",
        "application/an-application-deletes",
        "application/an-application-hears",
        "target/stays-up",
        "law/publications-are-stamped",
    }
    # what its agent does not do is no failure
    gets = {one.verdict for check, one in said if check == "application/a-get-ends-at-its-final"}
    assert gets == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("right", "wrong", "red"),
    [
        ("payload[n] = (uint8_t)one", "payload[n] = (uint8_t)~one", "application/an-application-publishes"),
        ('!strcmp(cmd, "put") ? PUT : DEL', "PUT", "application/an-application-deletes"),
        ('== PUT ? "put" : "delete"', '== PUT ? "put" : "put"', "application/an-application-hears"),
        ("w == 1 && *wanted == '*'", "w == 1 && *wanted == '?'", "application/an-application-hears"),
    ],
    ids=["value", "deletion", "kind", "wildcard"],
)
def test_a_fault_planted_in_it_is_found(tmp_path, right, wrong, red):
    text = SOURCE.read_text()
    assert right in text
    _, said = judged(tmp_path, text.replace(right, wrong, 1), red)
    assert Verdict.FAIL in {one.verdict for check, one in said if check == red}


def test_it_keeps_to_the_line_protocol(tmp_path):
    with processes.start([compiled(tmp_path, SOURCE.read_text()), "tcp/127.0.0.1:1"], interactive=True) as program:
        agent = AgentClient.over(program, validate=True)
        assert agent.introduction(Deadline.after(20))["language"] == "C"
        assert not agent.knows("levitate")
        assert agent.knows("put")
        with pytest.raises(AgentUnimplemented):
            agent.ask("get", id="g", key="t")
        with pytest.raises(AgentError, match="refuses put") as why:
            agent.ask("put", key="t/a", payload="0aff")
        assert "there is no session" in str(why.value)
        agent.ask("declare_subscriber", id="s", key="t/a")
        agent.ask("undeclare", id="s")
        with pytest.raises(AgentError, match="refuses undeclare"):
            agent.ask("undeclare", id="s")
        assert agent.ask("close")["ok"]

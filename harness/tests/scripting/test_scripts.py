"""Scripts: text and data say the same, each fault of a file names its line, and what was recorded is done again."""

import json
import re
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from faulty_nodes import SEVERAL
from slices import in_slice

from zenoh_conformance.cases.case import all_cases, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.messages import Hello
from zenoh_conformance.reading.connection import Nature
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.groups import BYTES
from zenoh_harness.faulty.table import concerned, runs_in_memory
from zenoh_harness.files import scripts
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.results import check_label
from zenoh_harness.files.scripts import Part, Value
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.scripting.binder import Elsewhere, bytes_of_parts, case_of, is_here, judge_script, perform
from zenoh_harness.scripting.recorder import is_scriptable, record, with_reason_name
from zenoh_harness.scripting.shipped import script_cases, shipped_scripts

SAMPLE = """\
script 1
about       a sample
requirement session-establishment/cookie-must-match
target      responder

us open
us send
    prefix              auto
    init.zid            $zid(us)
    open.cookie.length  length
    open.cookie.bytes   $us:init.cookie.bytes[1:-2] ^ -1:80  # all but the ends
    frame.messages[0].push.payload  ""
us expect refusal INVALID
wait 0.5
us fence
us deviates OpenAck
"""


def test_text_and_data_say_the_same():
    script = scripts.parse(SAMPLE)
    assert scripts.parse(scripts.text(script)) == script
    row = scripts.as_json(script)
    schema = json.loads((files("zenoh_harness.files") / "schemas" / "script.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(row)
    assert scripts.from_json(json.loads(json.dumps(row))) == script
    assert not validator.is_valid(row | {"extra": 1})
    assert not validator.is_valid(row | {"steps": [{"do": "dance", "connection": "us"}]})


@pytest.mark.parametrize(
    ("change", "line", "word"),
    [
        (("script 1", "script 2"), 1, "begins with the line"),
        (("us fence", "us fense"), 15, "did you mean fence"),
        (("us fence", "us fence now"), 15, "takes no more words"),
        (("us deviates OpenAck", "us deviates"), 16, "deviates what?"),
        (("wait 0.5", "wait long"), 14, "wait SECONDS"),
        (("wait 0.5", "5us open"), 14, "CONNECTION DOES"),
        (("auto", "otto"), 8, "no value"),
        (("init.zid ", "Init.Zid "), 9, "PATH VALUE"),
        (("us send", "us fence"), 8, "below a line"),
        (("us open", "them open"), None, "before it is opened"),
        (("$us:init", "$them:init"), None, "before it is opened"),
    ],
)
def test_a_file_that_is_wrong_names_its_line(change, line, word):
    with pytest.raises(FileFault) as refused:
        scripts.parse(SAMPLE.replace(*change, 1))
    assert refused.value.line == line
    assert word in str(refused.value)


def test_what_is_bound_is_filled_in():
    parts = [
        Part("prefix", Value(bound="auto")),
        Part("a.length", Value(bound="length")),
        Part("a.bytes", Value(bound="heard", name="us", path="x", first=1, last=-1, xor=(-1, b"\xff"))),
        Part("prefix", Value(bound="auto", xor=(0, b"\x01"))),
        Part("b", Value(data=b"\x07\x08")),
    ]
    whole = b"".join(bytes_of_parts(parts, lambda value: b"\x10\x20\x30\x40", 2))
    assert whole.hex(" ") == "03 00 02 20 cf 03 00 07 08"


def test_nobody_can_expect_what_does_not_exist():
    with pytest.raises(UsageError, match="nobody can expect 'InitAkk'"):
        case_of(scripts.parse(SAMPLE.replace("refusal INVALID", "InitAkk")), "scripts/x")


def run(case, parameters, node=None, role=Side.RESPONDER, rows="quick"):
    scene = MemoryScene(case.requirement, *([node] if node else []), role=role, profile=case.profile, variations=rows)
    try:
        case.run(scene, parameters)
    except Deviation as deviation:
        return scene, deviation.finding
    return scene, None


def quiet(case):
    """Whether a case is one that a script can do again in memory: handshakes, without what needs an application."""
    return case.profile == "default" and not set(case.needs) - {"qos"}


RECORDED = [case for case in all_cases().values() if quiet(case) and case.role is Side.RESPONDER and not case.timed]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.id)
def test_what_passed_passes_again_as_a_script(case):
    for parameters in case.parameters[:2]:
        scene, finding = run(case, parameters)
        assert finding is None
        script = scripts.parse(scripts.text(record(scene.conversation)))
        again = MemoryScene(case.requirement, seed=1)
        perform(script, again)


def replayable() -> list[str]:
    """Faulty nodes whose first catcher is a case that a script in memory reaches.

    One is left out: its cookies are all the same, so a script cannot tell whose was sent back.
    """
    cases = all_cases()
    caught = {name: cases.get(one.caught_by[0]) for name, one in all_faulty_nodes().items()}
    reached = [name for name, case in caught.items() if case and quiet(case) and case.role is Side.RESPONDER]
    return [name for name in reached if name != "bakes-the-same-cookie-again"]


@cache
def failing(name):
    """What a faulty node fails by: the case, its parameters, the scene, and the finding."""
    faulty_node = all_faulty_nodes()[name]
    case = all_cases()[faulty_node.caught_by[0]]
    return next(
        (case, each, scene, finding)
        for each in case.parameters
        for scene, finding in [run(case, each, faulty_node.node, rows="full")]
        if finding
    )


def script_of(case, parameters, scene, finding):
    header = {"check": check_label(case.id, shown_all(parameters)), "requirement": case.requirement}
    return scripts.parse(scripts.text(record(scene.conversation, header=header, finding=finding)))


def is_told(case, scene, finding):
    """Whether a step can tell the fault: it is something that came, or a silence where a case does not say how long it may be.

    A value, or what two messages say together, takes the check to tell it.
    """
    came = {us.text_of(seen) for us in scene.dialogues for seen in (*us.heard, None)} - {"silence"}
    return with_reason_name(finding.got) in came or (finding.got == "silence" and not case.timed)


@pytest.mark.parametrize("name", replayable())
def test_what_failed_deviates_again_as_a_script_where_a_step_tells_it_and_not_on_the_reference(name):
    """Where no step tells it, the steps alone pass on nobody."""
    case, parameters, scene, finding = failing(name)
    script = script_of(case, parameters, scene, finding)
    told = is_told(case, scene, finding)
    assert (script.steps[-1].do == "deviates") == told
    with pytest.raises(Deviation if told else Elsewhere, match=re.escape(finding.cause)):
        perform(script, MemoryScene(script.requirement, all_faulty_nodes()[name].node, seed=1))
    with suppress(Elsewhere) if told else pytest.raises(Elsewhere):
        perform(script, MemoryScene(script.requirement, seed=1))


def test_silence_behind_a_fence_deviates_again_and_links_that_were_tidied_up_are_left_open():
    """What answers a fence breaks no silence; a link that is shut before the answer could take it away."""
    scene = MemoryScene("push/push-reaches-intersecting", seed=1)
    us, other = scene.session("us"), scene.session("other")
    scene.wait(1.0)
    us.fence()
    with pytest.raises(Deviation) as red:
        us.deviate(expected="Push", got="silence")
    scene.wait(1.0)
    other.wire.shut()

    script = record(scene.conversation, header={"check": "models/transporting"}, finding=red.value.finding)

    assert [step.do for step in script.steps[-2:]] == ["fence", "deviates"]
    with pytest.raises(Deviation):
        perform(script, MemoryScene(script.requirement, seed=1))


def of_law(name, law):
    """The script of what a faulty node breaks a law by, and the case; responders in the default profile come first, who waits last."""
    node, named = all_faulty_nodes()[name].node, all_faulty_nodes()[name].caught_by
    cases = [case for case in all_cases().values() if runs_in_memory(case) and concerned(node, case)]
    cases = [case for case in cases if not case.profile.startswith("multicast")]  # what is said to groups is no script
    cases.sort(
        key=lambda case: (case.timed, case.role is not Side.RESPONDER, case.profile != "default", case.id not in named)
    )
    few = {case.id: len(case.parameters) if case.id.startswith("initiator") else 2 for case in cases}
    for values in (lambda case: case.parameters[: few[case.id]], lambda case: case.parameters[few[case.id] :]):
        for case, parameters in ((one, each) for one in cases for each in values(one)):
            scene, _ = run(case, parameters, node, case.role)
            for said in judge(scene.conversation, [all_laws()[law]]):
                if said.sender is case.role and said.findings:
                    header = {"check": law, "requirement": said.law.requirement}
                    script = record(scene.conversation, header=header, finding=said.findings[0])
                    return scripts.parse(scripts.text(script)), case
    raise AssertionError(f"no case shows that {name} breaks {law}")


NODES, ALL_LAWS = all_faulty_nodes(), all_laws()
SCOUTED = {f"breaks-{law}" for law, (kind, *_) in BYTES.items() if kind is Hello}
"""Those that are wrong in HELLO alone: a script begins with a link."""

LAWS = [
    (name, check)
    for name in SEVERAL
    if name not in SCOUTED
    for check in NODES[name].caught_by
    if check in ALL_LAWS and Nature.UNICAST in ALL_LAWS[check].natures
]


NOT_BY_A_SCRIPT = {"stamps-nothing", "counts-no-publications", "initiator-keeps-its-lanes"}
"""Those that say what their application wants said: a script has none."""


@pytest.mark.parametrize(("name", "law"), [pair for pair in LAWS if in_slice(*pair, of=9)])
def test_what_broke_a_law_breaks_it_again_as_a_script_and_the_reference_does_not(name, law):
    breaks_it_again(name, law)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "law"), LAWS)
def test_whatever_broke_a_law_breaks_it_again_as_a_script_and_the_reference_does_not(name, law):
    breaks_it_again(name, law)


def breaks_it_again(name, law):
    script, case = of_law(name, law)
    where = {"role": case.role, "profile": case.profile, "seed": 1}
    with pytest.raises(Elsewhere if name in NOT_BY_A_SCRIPT else Deviation):
        judge_script(script, MemoryScene(script.requirement, all_faulty_nodes()[name].node, **where))
    with suppress(Elsewhere):
        judge_script(script, MemoryScene(script.requirement, **where))


def test_what_is_said_to_a_group_is_no_script():
    """A script opens each link before it says something on it; nobody opens a group."""
    case = all_cases()["scouting/a-scout-for-everybody-is-answered"]
    in_group, _ = run(case, case.parameters[0], all_faulty_nodes()["answers-no-scout"].node, case.role)
    _, _, on_links, _ = failing(replayable()[0])

    assert not is_scriptable(in_group.conversation)
    assert is_scriptable(on_links.conversation)


@pytest.mark.parametrize("name", replayable())
def test_a_script_is_held_to_the_check_that_it_was_recorded_of(name):
    """Also where no step tells what the check saw."""
    script = script_of(*failing(name))

    with pytest.raises(Deviation):
        judge_script(script, MemoryScene(script.requirement, all_faulty_nodes()[name].node, seed=1))
    with suppress(Elsewhere):
        judge_script(script, MemoryScene(script.requirement, seed=1))


def test_a_script_of_a_check_that_is_not_here_is_done_as_it_stands():
    script = scripts.parse(SAMPLE.replace("requirement ", "check       law/of-another-version\nrequirement ", 1))
    assert script.header["check"] == "law/of-another-version"
    with suppress(Elsewhere, Deviation):
        judge_script(script, MemoryScene(script.requirement, seed=1))


def test_a_script_of_another_form_says_which():
    with pytest.raises(FileFault, match="of form 9, and this version reads form 1"):
        scripts.parse(SAMPLE.replace("script 1", "script 9", 1))


@pytest.mark.parametrize(
    ("check", "here"),
    [
        ("", True), ("law/cookie-echo", True), ("target/stays-up", True), ("models/anything", True), ("law/of-tomorrow", False),
        ("establishment-cookie/a-used-cookie-opens-no-second-session", True), ("close/of-tomorrow[x=1]", False),
    ],
)  # fmt: skip
def test_what_a_script_is_held_to_is_here_or_not(check, here):
    assert is_here(check) is here


def test_circumstances_that_this_version_has_not_are_elsewhere():
    check = "establishment-varied/a-handshake-is-accepted-in-any-circumstances"
    script = scripts.parse(SAMPLE.replace("target  ", f"check {check}\ncircumstances cut=with scissors\ntarget  ", 1))

    assert script.circumstances == {"cut": "with scissors"}
    with pytest.raises(Elsewhere, match="cut is never with scissors"):
        judge_script(script, MemoryScene(script.requirement))


def test_what_a_step_needs_is_written_down_and_asked_for():
    """A batch that is lawful only after an InitAck without size is not sent to who settles for less."""
    faulty_node = all_faulty_nodes()["keeps-its-own-batch-size"]
    case = all_cases()[faulty_node.caught_by[0]]
    scene, _ = next(found for each in case.parameters if (found := run(case, each, faulty_node.node))[1])
    steps = [step for step in record(scene.conversation).steps if step.do == "needs"]
    for step in steps:
        assert step.what.startswith("batch_size ")
    perform(scripts.parse("script 1\n\nus open\nus needs batch_size 65535\n"), MemoryScene("target/stays-up"))
    script = scripts.parse("script 1\n\nus open\nus needs batch_size 65536\n")
    with pytest.raises(Elsewhere, match="settled for batches of 65535"):
        perform(script, MemoryScene("target/stays-up"))
    with pytest.raises(UsageError, match="nobody can need"):
        case_of(scripts.parse("script 1\n\nus open\nus needs patience\n"), "scripts/x")


def test_those_that_ship_are_readable_and_pass_on_the_reference():
    assert len(script_cases()) == len(shipped_scripts()) >= 3
    for case in script_cases():
        assert run(case, {})[1] is None


def test_a_script_ships_as_it_is_written():
    for path in shipped_scripts().values():
        assert scripts.text(scripts.read(path)) == Path(path).read_text()

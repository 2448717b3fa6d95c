"""Run a script against a target: do its steps on a scene, and evaluate its expressions with the target's messages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import NoReturn

from zenoh_conformance.cases.case import Case, Parameters, all_cases, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import OVERSLEPT, Deviation, Finding
from zenoh_conformance.judging.law import Law, all_laws
from zenoh_conformance.judging.own_side import ANY
from zenoh_conformance.judging.variation import Row, row_with
from zenoh_conformance.messages.sane import DEFAULT_BATCH, DEFAULT_PRIORITY
from zenoh_conformance.reading.codec import trace
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import AnyKind, InitAck, InitSyn, MessageKind, OpenAck, OpenSyn, reason_code
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.wire import DecodeError, Layer, registry, vle
from zenoh_harness.errors import UsageError, nearest
from zenoh_harness.files.results import check_label
from zenoh_harness.files.scripts import STAYS_UP, Part, Script, Step, Value

BATCH_SIZE = "batch_size"
"""The condition of a step that a batch of this size is valid."""
PREFIX = "prefix"
"""The path of a batch's length on the link."""

_KINDS: dict[str, AnyKind] = {kind.name: kind for kind in (InitSyn, InitAck, OpenSyn, OpenAck)}
TELLING = frozenset({"init", "open", "close", "push", "request", "response", "response_final"})
"""Kinds of the target's messages that a script waits for; a node sends other kinds of its own accord."""

PASSED_ON = frozenset({"Push", "Request", "Response", "Declare"})
"""Messages that a script with several connections expects on one of them because another sent them."""

ENDS = ("link shut", "link reset")
"""Deviations that a CLOSE may precede."""

LEAVING = ("finish", "reset", "shut")
"""Steps after which the script reads nothing more from the link."""

_END = Part("end", Value())
_HEADERS = ("frame.header", "fragment.header", PREFIX, _END.path)
"""Paths at which a FRAME or FRAGMENT begins or the previous one ends."""

RELIABLE = 0x20
"""The bit R in the header of FRAME and FRAGMENT."""


def case_of(script: Script, name: str) -> Case:
    """Return the script as a case, to be run like one. Raises UsageError for a step that cannot be executed."""
    for step in script.steps:
        if step.do == "expect":
            _kind_to_expect(step)
        elif step.do == "needs":
            _batch_size_needed(step)
    return Case(
        id=name,
        requirement=script.requirement,
        function=lambda scene: judge_script(script, scene),
        needs=tuple(sorted({*script.header.get("ability", "").split(), *_needs(script)})),
        about=script.header.get("about", name),
        role=Side(script.header.get("target", Side.RESPONDER.value)),
        profile=script.header.get("profile", "default"),
        alone=True,
        breaks=ANY,
    )


def _needs(script: Script) -> tuple[str, ...]:
    """Return the capabilities that a script needs: several links for parallel connections, routing for forwarded messages."""
    up: set[str] = set()
    beside = False
    for step in script.steps:
        if step.do == "open":
            beside |= bool(up)
            up.add(step.connection)
        elif step.do in LEAVING or (step.do == "expect" and step.what == "end"):
            up.discard(step.connection)
    passed_on = any(step.do == "expect" and step.what in PASSED_ON for step in script.steps)
    return ("several-links", "several-sessions", *(("routing",) if passed_on else ())) if beside else ()


def judge_script(script: Script, scene: Scene) -> None:
    """Do the script's steps, and judge the target by the check that the script names. Raises Deviation or Elsewhere.

    For a law the steps are done and the law judges the conversation. For a case the case itself runs, since it judges more
    precisely than the recorded steps: these would accept the cookie of another link, or too short a silence. For
    `target/stays-up` nothing is judged here: the caller tests the target's health afterwards.
    """
    check = script.header.get("check", "")
    if check == STAYS_UP:
        _perform_until_failure(script, scene)
        return
    law = all_laws().get(check)
    if law is not None:
        _judge_by_law(script, scene, law)
    elif check and (found := case_named(check)) is not None:
        found[0].run(scene, found[1], _row_of(script, found[0]))
    else:
        perform(script, scene)


def _row_of(script: Script, case: Case) -> Row | None:
    """Return the row in which a varied case is to be run; None for all. Raises Elsewhere if this version has no such row."""
    if not script.circumstances:
        return None
    try:
        return row_with(case.varies, script.circumstances)
    except ValueError as why:
        raise Elsewhere(f"the check has no such circumstances: {why}") from why


def is_here(check: str) -> bool:
    """Return whether this version has the check of a script; otherwise the steps alone are done."""
    return not check or check in (*all_laws(), STAYS_UP) or check.startswith("models/") or case_named(check) is not None


def _perform_until_failure(script: Script, scene: Scene) -> None:
    """Do the steps until one fails."""
    with suppress(Elsewhere, Deviation):
        _Performance(script, scene, law=True).run()


def _judge_by_law(script: Script, scene: Scene, law: type[Law]) -> None:
    """Do the steps until one fails, and judge the conversation by the law. Raises Deviation or Elsewhere."""
    way = "the law met nothing to judge"
    try:
        _Performance(script, scene, law=True).run()
    except Elsewhere as otherwise:
        way = str(otherwise)
    role = Side(script.header.get("target", Side.RESPONDER.value))
    for said in judge(scene.conversation, [law]):
        if said.sender is not role:
            continue
        for finding in sorted(said.findings, key=lambda each: each.cause != script.header.get("cause")):
            raise Deviation(replace(finding, why=finding.cause, path="", expected="", got=""))
        if said.subjects:
            return
    raise Elsewhere(way)


def case_named(label: str) -> tuple[Case, Parameters] | None:
    """Return the case and the parameters of a label; None if there is no such case."""
    name = label.partition("[")[0]
    found = next((case for case in all_cases().values() if name in (case.id, *case.aliases)), None)
    if found is None:
        return None
    for parameters in found.parameters:
        if check_label(name, shown_all(parameters)) == label:
            return found, parameters
    return None


def perform(script: Script, scene: Scene) -> None:
    """Do the steps. Raises Deviation if an expected answer does not come or the recorded deviation occurs, or Elsewhere."""
    _Performance(script, scene).run()


class Elsewhere(Exception):  # noqa: N818 - no fault of anybody: the target did something else that is right, too
    """The script cannot reach the state in which it judges, since the target behaves differently and correctly."""


class _Performance:
    def __init__(self, script: Script, scene: Scene, *, law: bool = False) -> None:
        """`law`: a law judges the conversation afterwards; steps judge nothing."""
        self.script, self.scene, self.law = script, scene, law
        self.on: dict[str, Dialogue] = {}
        self.zids: dict[str, bytes] = {}
        self.said: dict[str, int] = {}
        """Connection to the number of messages that were received on it before the script last sent or expected something there."""
        self.proofs: set[int] = set()
        """Identities of the messages that answered a fence: they are no answer to anything else."""

    def run(self) -> None:
        cause = self.script.header.get("cause")
        states_deviation = any(step.do == "deviates" for step in self.script.steps)
        for at, step in enumerate(self.script.steps):
            try:
                self.step(step)
            except Deviation as deviation:
                if self.on_the_way(at):
                    raise Elsewhere(f"not reached: {deviation.finding.cause}") from deviation
                if not (states_deviation or cause) or step.do == "deviates":
                    raise
                raise Elsewhere(f"the target goes another way: {deviation.finding.cause}") from deviation
        if self.law:
            for us in self.on.values():
                self.listen(us)
        elif cause and not states_deviation:
            raise Elsewhere(f"the script does the same again, and cannot tell what the check did: {cause}")

    def on_the_way(self, at: int) -> bool:
        """Return whether a step is a preparatory step of a handshake: no session was live, and more messages follow."""
        live = any(us.their_open is not None and us.my_open is not None for us in self.on.values())
        handshake = self.script.steps[at].what in (InitAck.name, OpenAck.name, InitSyn.name, OpenSyn.name)
        return handshake and not live and any(step.do == "send" for step in self.script.steps[at + 1 :])

    def step(self, step: Step) -> None:
        if step.do == "wait":
            self.wait(step.seconds)
            return
        if self.law and step.do in LEAVING:
            self.listen(self.on[step.connection])
        getattr(self, f"do_{step.do}")(step)

    def listen(self, us: Dialogue) -> None:
        """Read the messages that no step expects before a link is ended, since a law judges these, too."""
        for _ in us.stream():
            pass

    def wait(self, seconds: float) -> None:
        """Wait for these seconds, and read what arrives in the meantime."""
        links = list(self.on.values())
        for dialogue in links[:1]:
            until = dialogue.wire.now() + seconds
            while (left := until - dialogue.wire.now()) > 0:
                event = dialogue.wire.receive(left)
                if event is None and dialogue.wire.now() < until:
                    break
                if event is not None:
                    dialogue._take(event)

    def zid(self, name: str) -> bytes:
        """Return the ZenohID of a name in the script."""
        return self.zids.setdefault(name, self.scene.fresh_zid())

    # -- steps

    def do_open(self, step: Step) -> None:
        self.on[step.connection] = self.scene.dialogue(step.connection, zid=self.zid(step.connection))

    def do_send(self, step: Step) -> None:
        us = self.on[step.connection]
        data = bytes_of_parts(step.parts, self.value, us.prefix)
        _count(us, step.parts, data)
        self.said[step.connection] = len(us.heard)
        for written in [b"".join(data)] if us.prefix else _datagrams(step.parts, data):
            us.send_bytes(written)

    def do_expect(self, step: Step) -> None:
        us, what = self.on[step.connection], step.what
        if what.startswith("refusal"):
            reasons = [reason_code(word) for word in what.split()[1:]]
            us.expect_refusal("script", reason=reasons or None)
        elif what == "end":
            us.expect_end()
        else:
            us.expect(_kind_to_expect(step))
        self.said[step.connection] = len(us.heard)

    def do_fence(self, step: Step) -> None:
        self.proofs |= {id(seen) for seen in self.on[step.connection].fence()[-1:] if seen.kind == "response_final"}

    def do_finish(self, step: Step) -> None:
        self.on[step.connection].wire.finish()

    def do_reset(self, step: Step) -> None:
        self.on[step.connection].wire.reset()

    def do_shut(self, step: Step) -> None:
        self.on[step.connection].wire.shut()

    def do_needs(self, step: Step) -> None:
        """Check that the negotiated terms make the next step valid. Raises Elsewhere."""
        us, wanted = self.on[step.connection], _batch_size_needed(step)
        told = [seen.message.batch_size for seen in us.heard if seen.kind == "init"]
        settled = min((DEFAULT_BATCH if size is None else size for size in told), default=DEFAULT_BATCH)
        if settled < wanted:
            raise Elsewhere(f"the target settled for batches of {settled} bytes, and the script sends {wanted}")

    def do_deviates(self, step: Step) -> None:
        """Raise Deviation if the target deviates as it did when the script was recorded."""
        us = self.on[step.connection]
        if self.law:
            self.listen(us)
            return
        came = False
        for seen in (*us.heard[self.said.get(step.connection, 0) :], *us.stream()):
            if us.text_of(seen) == step.what:
                self.deviate(us, step.what)
            tells = seen.kind in TELLING and id(seen) not in self.proofs
            came = came or (tells and not (seen.kind == "close" and self.ends_anyhow(step)))
        if not came and us.text_of(None) == step.what:
            self.deviate(us, step.what)

    def ends_anyhow(self, step: Step) -> bool:
        """Return whether the end of the link is the deviation even after a CLOSE: if the cause does not mention one."""
        return step.what in ENDS and "Close" not in self.script.header.get("cause", "")

    def deviate(self, us: Dialogue, what: str) -> NoReturn:
        """Raise Deviation; Elsewhere if the target ended the session as our own lease was over."""
        if us.ended_for_our_silence(what):
            raise Elsewhere(OVERSLEPT)
        cause = self.script.header.get("cause", "as recorded")
        raise Deviation(
            Finding(
                requirement=self.script.requirement,
                sender=us.wire.side.other,
                connection=us.wire.name,
                time=us.wire.now(),
                why=cause,
                end=us.end(),
            )
        )

    # -- values

    def value(self, value: Value) -> bytes:
        """Return the bytes of an expression, from our ZenohIDs and the target's messages."""
        if value.bound == "zid":
            return self.zid(value.name)
        us, kind = self.on[value.name], value.path.partition(".")[0]
        for seen in reversed(us.heard):
            if seen.kind == kind:
                return _at(seen.raw, seen.path + value.path.removeprefix(kind))
        us.deviate(expected=f"a message of kind {kind}", got="none", step=f"${value.name}:{value.path}")
        raise AssertionError("deviate raises")


def _datagrams(parts: Sequence[Part], data: Sequence[bytes]) -> list[bytes]:
    """Return the batches, each for a datagram of its own. Raises Elsewhere where a length of the script is not that of its batch."""
    batches = [b""]
    for part, given in zip(parts, data, strict=True):
        if part.path == PREFIX and given:
            raise Elsewhere("not reached: a wrong length before a batch; datagrams have none")
        if part.path == PREFIX and batches[-1]:
            batches.append(b"")
        batches[-1] += given
    return batches


def _count(us: Dialogue, parts: Sequence[Part], data: Sequence[bytes]) -> None:
    """Continue the dialogue's own sequence numbers (for a fence) after those that the script has used."""
    sn: int | None = None
    channel = (True, DEFAULT_PRIORITY)
    for part, given in (*zip(parts, data, strict=True), (_END, b"")):
        if part.path.endswith(_HEADERS) and sn is not None:
            us._next_sn[channel] = (sn + 1) & us.sn_mask
            sn = None
        if part.path.endswith(_HEADERS[:2]) and given:
            channel = (bool(given[0] & RELIABLE), DEFAULT_PRIORITY)
        elif part.path.endswith(("frame.sn", "fragment.sn")):
            sn = _number(given)
        elif part.path.endswith(("frame.exts.qos.value", "fragment.exts.qos.value")) and given:
            channel = (channel[0], given[0] & 7)
        elif part.path.endswith("open.initial_sn"):
            us.initial_sn = _number(given)


def _number(data: bytes) -> int:
    try:
        return vle.decode(data)[0]
    except DecodeError:
        return 0


def bytes_of_parts(parts: Sequence[Part], value: object, prefix: int) -> list[bytes]:
    """Return the bytes of each segment; `value` gives those of zid and heard, `prefix` is the size of a batch's length."""
    done: list[bytes] = []
    for part in reversed(parts):
        done.insert(0, _bytes_of(part, done, parts[len(parts) - len(done) :], value, prefix))
    return done


def _bytes_of(part: Part, after: list[bytes], following: Sequence[Part], value: object, prefix: int) -> bytes:
    shown = part.value
    if shown.bound == "auto":
        size = 0
        for data, next_part in zip(after, following, strict=True):
            if next_part.path == PREFIX:
                break
            size += len(data)
        data = size.to_bytes(prefix, "little") if prefix else b""
    elif shown.bound == "length":
        whole = takewhile(lambda pair: pair[1].path == following[0].path, zip(after, following, strict=True))
        data = vle.encode(sum(len(data) for data, _ in whole))
    elif shown.bound:
        assert callable(value)
        data = value(shown)[shown.first : shown.last]
    else:
        data = shown.data
    return _with_flipped_bits(data, shown.xor)


def _with_flipped_bits(data: bytes, xor: tuple[int, bytes] | None) -> bytes:
    if xor is None or not data:
        return data
    changed = bytearray(data)
    for offset, bits in enumerate(xor[1], xor[0] if xor[0] >= 0 else len(data) + xor[0]):
        changed[min(offset, len(changed) - 1)] ^= bits
    return bytes(changed)


def _at(raw: bytes, path: str) -> bytes:
    """Return the bytes at a path of a received message. Raises UsageError for a path that it does not have."""
    for layer in (Layer.TRANSPORT, Layer.NETWORK):
        try:
            return trace(raw, layer).segments.get(path).data
        except KeyError:
            continue
    raise UsageError(
        f"the message that was heard has no {path}", step="bind the script", hint="zconform explain shows paths"
    )


def _kind_to_expect(step: Step) -> AnyKind:
    """Return the kind of message that a step waits for. Raises UsageError, with the most similar name."""
    words = step.what.split()
    if words[0] in ("refusal", "end"):
        return MessageKind(words[0], object)
    kinds = {name: cls for layer in registry.LAYERS for name, cls in registry.kinds(layer).items()}
    if step.what in _KINDS:
        return _KINDS[step.what]
    if step.what in kinds:
        return MessageKind(step.what, kinds[step.what])
    names = [*_KINDS, *kinds, "refusal", "end"]
    raise UsageError(f"nobody can expect {step.what!r}", step="read the script", hint=nearest(step.what, names))


def _batch_size_needed(step: Step) -> int:
    """Return the batch size that a step needs. Raises UsageError."""
    word, _, number = step.what.partition(" ")
    if word != BATCH_SIZE or not number.isdigit():
        raise UsageError(f"nobody can need {step.what!r}", step="read the script", hint=f"{BATCH_SIZE} NUMBER")
    return int(number)

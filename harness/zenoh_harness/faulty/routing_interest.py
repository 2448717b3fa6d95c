"""Routers that forward declarations wrongly: receivers, contents, ids, and the end of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

from zenoh_conformance.messages import Declare, DFinal, DKeyExpr, DQueryable, DSubscriber, Interest, UKeyExpr, sane
from zenoh_conformance.wire import NO_EXTS
from zenoh_harness.reference import INVALID, Reference, after, before, refuse
from zenoh_harness.reference.declaring import ASKED, DECLARE, UNDECLARE, declare, whole

from . import fault, faulty

SNAPSHOTS = "interest-snapshots"


class _SaysOtherwise(Reference):
    """Base of nodes that change each declaration before they send it."""

    def say(self, link, message, **options):
        said = self.told_as(link, message) if isinstance(message, Declare) else message
        if said is not None:
            super().say(link, said, **options)

    def told_as(self, link, message):
        """The message to send instead, or None."""
        raise NotImplementedError


def _misreads_what_follows_a_final(node, base, message):
    if node.final:
        refuse(INVALID)
    if isinstance(message, Interest) and not message.mode:
        node.final.append(message)
    base()


def _remembers_what_was_told(node, base, link, kind, entity):
    key = kind, link.session, entity
    told = [(other, other.announced[key]) for other in node.others(link) if key in other.announced]
    base()
    for other, number in told:
        other.announced[key] = number


def _leaves_the_other_kinds(link, number):
    held = link.interests.pop(number, None)
    kinds = [option for option in ASKED.values() if held is not None and (held.options or 0) & option]
    if len(kinds) > 1:
        link.interests[number] = replace(held, options=held.options & ~kinds[0])


def beyond(node, link, kinds):
    """What there is of kinds of declarations, whatever the key."""
    return [
        (other, kind, entity) for other in node.others(link) for kind in kinds for entity in list(node.table(other, kind))
    ]  # fmt: skip


fault(
    "takes-all-of-an-id-back",
    "Takes back the declarations of every kind that have the id of one that is taken back.",
    on_entity_gone=lambda base: [base(kind=kind) for kind in DECLARE][-1],
    caught_by="interest-changes/each-kind-has-ids-of-its-own",
)
fault(
    "reads-options-in-a-final",
    "Reads a byte of options behind INTEREST Final, which has none, and misreads what follows it in its FRAME.",
    route=_misreads_what_follows_a_final,
    on_batch=before(lambda node: node.final.clear()),
    state={"final": list},
    caught_by="interest-snapshots/after-final-nothing-is-told",
)
fault(
    "tells-a-known-node-nothing-again",
    "Tells a node that comes again nothing of what is there.",
    snapshot=lambda node, base, link: (
        iter(()) if node.met.setdefault(link.zid, link.session) != link.session else base()
    ),
    state={"met": dict},
    caught_by="interest-changes/who-comes-again-is-told-again",
)
fault(
    "answers-with-every-key",
    "Answers an interest with declarations of its kinds under any key; later ones are restricted to its key.",
    snapshot=lambda node, link, interest: beyond(
        node, link, [kind for kind, option in ASKED.items() if (interest.options or 0) & option]
    ),
    caught_by="law/snapshot-keeps-to-its-key",
    also={f"{SNAPSHOTS}/*": "a snapshot has more in it"},
)
fault(
    "tells-every-key-later",
    "Tells a session that has an interest of all later declarations of its kinds, whatever their key.",
    wants=lambda link, kind: any((one.options or 0) & ASKED[kind] for one in link.interests.values()),
    caught_by=f"{SNAPSHOTS}/who-asks-is-told",
    also={f"{SNAPSHOTS}/*": "the same in a later step", "interest-changes/*": "the same in a later step"},
)
fault(
    "answers-with-every-kind",
    "Answers an interest with declarations of its key of all kinds.",
    snapshot=lambda node, base, link, interest: base(
        interest=replace(interest, options=(interest.options or 0) | 0x0E)
    ),
    caught_by="law/snapshot-keeps-to-its-kinds",
    also={f"{SNAPSHOTS}/options-select-what-is-told": "a snapshot has more in it"},
)
fault(
    "tells-nobody",
    "Answers interests, and does not forward later declarations.",
    wants=lambda: False,
    caught_by=f"{SNAPSHOTS}/who-asks-is-told",
    also={
        f"{SNAPSHOTS}/*": "it forwards no later declaration",
        "qos-defaults/a-declaration*": "the same without QoS",
        "interest-changes/*": "it forwards no later declaration",
        "routing-extensions/what-is-declared*": "it forwards no later declaration",
        "routing-sizes/a-token*": "a key of any length",
    },
)
fault(
    "takes-nothing-back",
    "Forwards declarations, and no undeclarations.",
    on_entity_gone=lambda node, link, kind, entity: node.table(link, kind).pop(entity, None),
    caught_by=f"{SNAPSHOTS}/who-asks-is-told",
    also={
        "close-scope/what-a-session*": "it sends no undeclaration",
        f"{SNAPSHOTS}/what-a-session*": "it sends no undeclaration",
        "routing-extensions/what-is-declared*": "it sends no undeclaration",
        "interest-changes/what-a-snapshot*": "the same for what a snapshot declared",
        "session-leases/what-a-dead-session-declared-is-taken-back": "a session may end in any way",
    },
)
fault(
    "takes-another-thing-back",
    "Sends an undeclaration with another entity's id.",
    undeclared=lambda kind, entity: UNDECLARE[kind](id=entity + 1000),
    caught_by=(f"{SNAPSHOTS}/who-asks-is-told", "law/undeclared-was-declared"),
    also={
        "close-scope/what-a-session*": "it undeclares another entity",
        "law/undeclared-*-names-key": "its undeclaration has no key",
        "routing-extensions/what-is-declared*": "it undeclares another entity",
        "interest-changes/what-a-snapshot*": "the same for what a snapshot declared",
        "session-leases/what-a-dead-session-declared-is-taken-back": "a session may end in any way",
    },
)
fault(
    "names-no-key-where-it-takes-back",
    "Sends undeclarations without the key.",
    undeclared=lambda kind, entity: UNDECLARE[kind](id=entity),
    caught_by=(
        "law/undeclared-subscriber-names-key",
        "law/undeclared-queryable-names-key",
        "law/undeclared-token-names-key",
    ),
)
fault(
    "calls-nobody-complete",
    "Forwards queryables without QueryableInfo.",
    told_info=lambda: NO_EXTS,
    caught_by=f"{SNAPSHOTS}/completeness-is-told",
)
fault(
    "calls-nobody-complete-in-a-snapshot",
    "Answers an interest with queryables without QueryableInfo, and forwards it later.",
    of=_SaysOtherwise,
    told_as=lambda message: (
        message
        if message.interest_id is None or not isinstance(message.body, DQueryable)
        else replace(message, body=replace(message.body, exts=NO_EXTS))
    ),
    caught_by=f"{SNAPSHOTS}/completeness-is-told",
)
fault(
    "tells-nothing-again-that-was-taken-back",
    "Never forwards a declaration again whose id stood for something that it forwarded and took back.",
    on_entity_gone=_remembers_what_was_told,
    caught_by="interest-changes/what-was-taken-back-may-come-again",
)
fault(
    "calls-all-complete",
    "Forwards all queryables as complete.",
    told_info=lambda base, held: base(held=replace(held, complete=True)),
    caught_by=f"{SNAPSHOTS}/completeness-is-told",
)
fault(
    "answers-without-the-interest",
    "Sends the interest id only with the end of a snapshot.",
    of=_SaysOtherwise,
    told_as=lambda message: message if isinstance(message.body, DFinal) else replace(message, interest_id=None),
    caught_by=f"{SNAPSHOTS}/a-snapshot-names-its-interest",
)
fault(
    "answers-another-interest",
    "Sends another interest id than the one asked with.",
    of=_SaysOtherwise,
    told_as=lambda message: (
        message if message.interest_id is None else replace(message, interest_id=message.interest_id + 1000)
    ),
    caught_by=(
        "law/interest-id-is-known",
        f"{SNAPSHOTS}/a-snapshot-names-its-interest",
        f"{SNAPSHOTS}/a-snapshot-ends",
    ),
    also={"*": "no snapshot has the id of its interest"},
)
fault(
    "introduces-itself-to-peers-under-id-0",
    "Tells a peer unasked of a subscriber of its own, as an answer to an interest with id 0.",
    go_live=after(
        lambda node, link: (
            node.say(link, declare(DSubscriber(id=0xFFF0, key=whole("introduced")), 0))
            if link.theirs.whatami == sane.PEER
            else None
        )
    ),
    caught_by="law/interest-id-is-known",
)
fault(
    "ends-no-snapshot",
    "Does not send D_FINAL.",
    end_snapshot=lambda: None,
    caught_by=f"{SNAPSHOTS}/a-snapshot-ends",
    also={
        "qos-defaults/an-interest*": "the same without QoS",
        "interest-changes/interests-of-two*": "the case waits for the end of a snapshot",
        "routing-ids/an-interest*": "the same for any id",
    },
)
fault(
    "ends-no-snapshot-in-particular",
    "Sends D_FINAL without the interest id.",
    end_snapshot=lambda node, link: node.say(link, declare(DFinal())),
    caught_by=("law/one-final-for-a-snapshot", f"{SNAPSHOTS}/a-snapshot-ends"),
    also={
        "interest-changes/interests-of-two*": "the case waits for the end of a snapshot",
        "routing-ids/an-interest*": "the same for any id",
    },
)
fault(
    "hears-no-end-of-an-interest",
    "Forwards declarations after the end of an interest.",
    on_interest=lambda base, interest: base() if interest.mode else None,
    caught_by=f"{SNAPSHOTS}/after-final-nothing-is-told",
)
fault(
    "tells-all-keys",
    "Ignores the key of an interest.",
    covers=lambda base, interest: base(interest=replace(interest, options=(interest.options or 0) & ~0x10)),
    caught_by=f"{SNAPSHOTS}/an-interest-is-restricted-to-its-key",
    also={f"{SNAPSHOTS}/*": "it sends declarations of all keys"},
)
fault(
    "tells-all-kinds",
    "Ignores the options of an interest.",
    covers=lambda base, interest: base(interest=replace(interest, options=(interest.options or 0) | 0x0E)),
    caught_by=f"{SNAPSHOTS}/options-select-what-is-told",
    also={f"{SNAPSHOTS}/*": "it sends declarations of all kinds"},
)
fault(
    "tells-no-tokens",
    "Does not send tokens to interests.",
    covers=lambda base, kind: kind != "token" and base(),
    caught_by=(f"{SNAPSHOTS}/options-select-what-is-told", f"{SNAPSHOTS}/a-snapshot-of-many-is-whole"),
    also={
        f"{SNAPSHOTS}/*": "it sends no tokens",
        "qos-defaults/an-interest*": "it asks for tokens",
        "interest-changes/*": "it sends no tokens",
        "routing-extensions/what-is-declared*": "it sends no tokens",
        "routing-numbers/an-interest*": "it sends no tokens",
        "routing-sizes/a-token*": "a key of any length",
    },
)
fault(
    "names-no-interest-in-an-aggregate",
    "Declares an aggregate without the id of its interest, also where that was asked for what is there.",
    refresh_aggregate=lambda base: base(answers=None),
    caught_by=f"{SNAPSHOTS}/an-aggregate-is-one-declaration",
)
fault(
    "ends-one-kind-of-an-interest-at-final",
    "Takes Final for the end of an interest in its first kind, and goes on telling of the others that it asked for.",
    on_interest=lambda node, base, link, interest: (
        _leaves_the_other_kinds(link, interest.id) if not interest.mode else base()
    ),
    caught_by=f"{SNAPSHOTS}/after-final-nothing-is-told",
)
fault(
    "tells-keys-one-by-one",
    "Does not aggregate.",
    on_interest=lambda base, interest: base(
        interest=replace(interest, options=interest.options and interest.options & ~0x80)
    ),
    caught_by=f"{SNAPSHOTS}/an-aggregate-is-one-declaration",
)
fault(
    "tells-a-hundred",
    "Sends at most a hundred declarations in a snapshot.",
    snapshot=lambda base: islice(base(), 100),
    caught_by=f"{SNAPSHOTS}/a-snapshot-of-many-is-whole",
)
fault(
    "uses-numbers-before-it-declares-them",
    "Uses an expression id and never declares it.",
    of=_SaysOtherwise,
    told_as=lambda message: None if isinstance(message.body, DKeyExpr | UKeyExpr) else message,
    caught_by="law/scope-is-declared",
    also={"*": "its expression ids are wrong"},
)
fault(
    "reads-no-m-in-declarations",
    "Reads every expression id in a declaration or an interest as the sender's, whatever M says.",
    on_entity=lambda base, body: base(body=replace(body, key=replace(body.key, mapping=True))),
    on_interest=lambda base, interest: base(
        interest=replace(interest, key=interest.key and replace(interest.key, mapping=True))
    ),
    caught_by=(
        "routing-numbers/a-subscriber-may-name-its-key-by-a-number-of-the-receiver",
        "routing-numbers/an-interest-may-name-its-key-by-a-number-of-the-receiver",
    ),
)


@faulty(
    "on_gone",
    caught_by=f"{SNAPSHOTS}/what-a-session-declared-is-taken-back-with-it",
    also={
        "close-scope/what-a-session*": "it sends no undeclaration",
        "session-leases/what-a-dead-session-declared-is-taken-back": "a session may end in any way",
        f"{SNAPSHOTS}/an-aggregate-*": "an aggregate ends with the last session that it stands for",
    },
)
def keeps_what_the_dead_declared(base, link):
    """Sends no undeclarations when a session ends."""
    for table in (link.subscribers, link.queryables, link.tokens):
        table.clear()
    base()


@faulty(
    "on_entity_gone",
    caught_by=f"{SNAPSHOTS}/nobody-takes-back-what-another-declared",
    also={
        f"{SNAPSHOTS}/what-two*": "the other one has the same id",
        "push-delivery/the-rest*": "the other subscriber has the same id",
    },
)
def lets_anybody_take_back(node, base, link, kind, entity):
    """Undeclares the entity of that id in every session."""
    holders = [other for other in node.links.values() if entity in node.table(other, kind)]
    for holder in holders or [link]:
        base(link=holder)


@faulty(
    "on_entity_gone",
    caught_by=f"{SNAPSHOTS}/what-two-declared-stays-with-one",
    also={
        "push-delivery/the-rest*": "it withdraws the other one, too",
        f"{SNAPSHOTS}/what-a-session*": "it withdraws the declaration before the check",
        "close-scope/what-a-session*": "it withdraws the declaration before the check",
        "routing-stays/*one-key-stays": "both have the same key",
        "session-leases/what-a-dead-session-declared-is-taken-back": "a session may end in any way",
        f"{SNAPSHOTS}/an-aggregate-*": "an aggregate ends with the last session that it stands for",
    },
)
def takes_a_key_back_with_its_first(node, base, link, kind, entity):
    """Withdraws all declarations of a key with the first one."""
    held = node.table(link, kind).get(entity)
    for other in node.links.values():
        for number in [n for n, each in node.table(other, kind).items() if held is not None and each.key == held.key]:
            base(link=other, entity=number)


@faulty(
    "told_as",
    of=_SaysOtherwise,
    caught_by=(f"{SNAPSHOTS}/what-comes-later-names-no-interest", "law/interest-id-only-in-snapshots"),
    also={"*": "later declarations have an interest id"},
)
def names_the_interest_later_too(link, message):
    """Sends the interest id with later declarations, too."""
    first = next(iter(link.interests), None)
    is_entity = hasattr(message.body, "key") and not isinstance(message.body, DKeyExpr)
    return replace(message, interest_id=first) if message.interest_id is None and is_entity else message


fault(
    "ends-a-snapshot-twice",
    "Sends D_FINAL twice.",
    end_snapshot=after(lambda base: base()),
    caught_by=(f"{SNAPSHOTS}/a-snapshot-ends", "law/one-final-for-a-snapshot"),
)


fault(
    "ends-the-future",
    "Sends D_FINAL to a future interest.",
    on_interest=after(lambda node, link, interest: node.end_snapshot(link, interest) if interest.mode == 2 else None),
    caught_by=(f"{SNAPSHOTS}/the-future-has-no-snapshot", "law/future-has-no-final"),
)


@faulty("on_interest", caught_by=f"{SNAPSHOTS}/the-future-has-no-snapshot")
def tells_the_past_to_who_wants_the_future(node, base, link, interest):
    """Sends a snapshot to a future interest."""
    base()
    if interest.mode == 2:
        for owner, kind, entity in node.snapshot(link, interest):
            node.tell(link, owner, kind, entity)


@faulty("tell", caught_by=(f"{SNAPSHOTS}/what-is-declared-again-is-told-once", "law/entity-sent-once"))
def tells_twice(base, to, owner, kind, entity, interest):
    """Forwards an entity again whenever it is declared again."""
    if interest is None and (kind, owner.session, entity) in to.announced:
        text = to.announced.pop((kind, owner.session, entity))
        number, to.entity_ids = to.entity_ids, iter([text])
        base()
        to.entity_ids = number
    else:
        base()


fault(
    "gives-each-key-the-same-number",
    "Declares every key under expression id 1.",
    named=before(lambda to: setattr(to, "expr_ids", count(1))),
    caught_by="law/expr-id-not-reused",
    also={"*": "its expression ids are wrong"},
)


fault(
    "ends-a-snapshot-first",
    "Sends D_FINAL before the snapshot.",
    snapshot=before(lambda node, link, interest: Reference.end_snapshot(node, link, interest)),
    end_snapshot=lambda: None,
    refresh_aggregate=lambda: None,
    caught_by=(f"{SNAPSHOTS}/a-snapshot-ends", "law/interest-id-only-in-snapshots"),
    also={f"{SNAPSHOTS}/*": "the snapshot comes after its end"},
)

"""To whom a publication goes, how often, and under which key. Toward a node that routes between its clients."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.establishment.states import comes_back
from zenoh_conformance.cases.routing.plain import MISSES, ROUTES, a_publication_reaches_a_subscriber, heard_of, pairs
from zenoh_conformance.messages import InterestMode, InterestOptions, NodeId, Push, Put, USubscriber, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Party, Scene, one_more, parties, payload_of
from zenoh_conformance.wire import Exts

URGENT_BLOCK_EXPRESS = 2 | 0x08 | 0x10
"""QoS of a priority above the default one, not to be dropped and not to be held back."""

SIZES = (0, 1, 127, 128, 16383, 16384, 40_000, 200_000)
"""Payloads at the edges of VLE, and beyond a batch."""

ROUND, SMALL, BITS_8 = 40_000, 256, 2 << 2
"""A payload that fills more batches of that size than numbers of 8 bits count; the resolution byte with those, and requests of 32."""

NO_KEYS = ("k//a", "k/", "k/a#b", "k/a?b", "k/**/**", "k/**/*", "k/a$b", "k/$*")
"""Texts that are no key expressions, or not in canonical form."""


@case("push/push-only-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber, parameters=pairs(MISSES))
def a_publication_reaches_no_other(scene: Scene, *, declared: str, said: str) -> None:
    """
    A publication goes to nobody whose key expression it does not meet.

        subscriber  DECLARE (subscriber)
        publisher   PUSH (a key beside it)
        target      to the subscriber: nothing
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber(declared)
    subscriber.declares_subscriber("plain")
    publisher.puts("plain")
    subscriber.expect_push("plain", step="not reached: a plain publication")

    publisher.puts(said, b"1")
    publisher.settles()

    subscriber.expect_no_push(but=1)


@case("push/push-only-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def a_publication_goes_under_no_other_key(scene: Scene) -> None:
    """
    A publication arrives under its own key and under no other: neither at a subscriber nor at a session that subscribes to nothing.

        subscriber  DECLARE (subscriber)
        publisher   PUSH (a value that nobody else has)
        target      to the subscriber: PUSH; to the publisher and the stranger: nothing with that value, of whatever key
    """
    publisher, subscriber, stranger = parties(scene, "publisher", "subscriber", "stranger")
    subscriber.declares_subscriber("k")
    mark = publisher.us.zid + b" was here"

    publisher.puts("k", mark)
    subscriber.expect_push("k", step="not reached: the publication")
    publisher.settles()

    for each in (publisher, subscriber, stranger):
        each.settles()
        each.us.require(
            each.strays(mark) == 0, expected="no key but its own", got="another", step=f"to the {each.name}"
        )


@case(
    "push/push-only-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=tuple({"said": key} for key in NO_KEYS),
    breaks=("law/keys-follow-the-grammar",),
)
def what_is_no_key_reaches_nobody(scene: Scene, *, said: str) -> None:
    """
    A publication to a text that is no key expression goes to nobody.

        subscriber  DECLARE (subscriber of k/**)
        publisher   PUSH (k//a)
        target      to the subscriber: nothing
    """
    publisher, subscriber = heard_of(scene)

    publisher.puts(said, b"1")
    publisher.settles_or_ends()

    subscriber.expect_no_push(but=1)


@case("push/push-only-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def who_has_left_off_hears_nothing(scene: Scene) -> None:
    """
    A subscriber that was taken back hears no more; one that comes late hears nothing of what was before.

        subscriber  DECLARE (subscriber), later DECLARE (undeclare)
        publisher   PUSH
        late        DECLARE (subscriber)
        target      to either: nothing
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    declared = subscriber.declares_subscriber("k")
    publisher.puts("k")
    subscriber.expect_push("k", step="not reached: a plain publication")

    subscriber.retracts(USubscriber, declared.id)
    came, deadline = 1, publisher.us.wire.now() + publisher.us.unit
    while True:  # what is taken back has its effect at once or a little later
        publisher.puts("k", b"2")
        publisher.settles()
        before, came = came, len(subscriber.now(Push))
        if came == before or publisher.us.wire.now() >= deadline:
            break
        publisher.us.next(publisher.us.unit / 16)
    late = one_more(scene, "late", publisher)
    late.declares_subscriber("k")

    subscriber.expect_no_push(step="taken back", but=before)
    late.expect_no_push(step="late")


@case("push/push-reaches-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def each_session_gets_it_once(scene: Scene) -> None:
    """
    However many of a session's subscribers a publication meets, the session gets it once, and so does each other session.

        one, other  DECLARE (subscribers of k/a, k/*, k/**)
        third       the same
        publisher   PUSH (k/a), a value and a deletion; the same with another QoS
        target      to each of the three: these PUSHes, once each
    """
    publisher, *others = parties(scene, "publisher", "one", "other", "third")
    for each in others:
        for key in ("k/a", "k/*", "k/**"):
            each.declares_subscriber(key)

    for qos in (None, URGENT_BLOCK_EXPRESS):
        publisher.puts("k/a", b"1", priority=qos)
        publisher.deletes("k/a", priority=qos)
    publisher.settles()

    for each in others:
        for _ in range(4):
            each.expect_push("k/a", step=f"to {each.name}")
        each.expect_no_push(step=f"once to {each.name}", but=4)


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(gone=(0, 1)),
)
def the_rest_goes_on_when_one_leaves(scene: Scene, *, gone: int) -> None:
    """
    One of two subscribers of one key takes it back, or leaves; the other one goes on hearing.

        one, other  DECLARE (subscriber)
        one         DECLARE (undeclare), or CLOSE
        publisher   PUSH
        target      to the other: PUSH
    """
    publisher, one, other = parties(scene, "publisher", "one", "other")
    declared, _ = one.declares_subscriber("k"), other.declares_subscriber("k")
    publisher.puts("k")
    other.expect_push("k", step="not reached: a plain publication")

    if gone:
        one.leaves()
    else:
        one.retracts(USubscriber, declared.id)
    publisher.puts("k", b"2")

    other.expect_push("k", step="to who stays")


@case(
    "push/node-id-prevents-loops",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(node=(None, 0, 7)),
)
def a_publication_does_not_come_back(scene: Scene, *, node: int | None) -> None:
    """
    Who publishes what it subscribes to does not get it back, whatever NodeId it says.

        both       DECLARE (subscriber)
        publisher  PUSH
        target     to the other one: PUSH; to the publisher: nothing
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    publisher.declares_subscriber("k")
    subscriber.declares_subscriber("k")

    publisher.puts("k", b"1", exts=() if node is None else (NodeId(value=node),))
    publisher.settles()

    subscriber.expect_push("k", step="not reached: a plain publication")
    publisher.expect_no_push(step="back")


@case(
    "push/put-delivers-value",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(size=SIZES),
    is_heard=True,
)
def a_value_of_any_size_comes_whole(scene: Scene, *, size: int) -> None:
    """
    A value comes as it was published, however large. One of 40,000 bytes goes to a session with small batches and numbers of 8 bits,
    too, in more fragments than they count.

        publisher  PUSH (a payload of that size), in FRAGMENTs where it must be
        target     to the subscriber: PUSH, the same payload
    """
    takes(scene, size)
    publisher, subscriber = heard_of(scene, whole=False)
    hearers = [subscriber]
    if size == ROUND and scene.role is Side.RESPONDER:
        narrow = scene.dialogue("narrow").open(resolution=BITS_8, batch_size=SMALL)
        hearers.append(Party(narrow, "narrow", publisher.root))
        hearers[-1].declares_subscriber("k")
    payload = sane.payload(size)
    publisher.puts("k", payload, exts=sane.SURELY)  # a busy node may drop what may be dropped

    for each in hearers:
        push = each.expect_push("k", step="the value")
        same = payload_of(push) == payload
        each.us.require(same, expected=f"{size} bytes as sent", got="others", step="the value")


@case(
    "push/put-delivers-value",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(reliable=(True, False)),
    is_heard=True,
)
def values_come_in_order(scene: Scene, *, reliable: bool) -> None:
    """
    Values of one key on one channel come in the order in which they were said: the last one is the newest.

        publisher  PUSH, ten times
        target     to the subscriber: ten PUSHes, in order
    """
    publisher, subscriber = heard_of(scene, whole=False)
    for number in range(10):
        publisher.says(publisher_push(publisher, number), reliable=reliable)

    got = [payload_of(subscriber.expect_push("k", step="the values")) for _ in range(10)]
    in_order = got == [bytes([number]) for number in range(10)]
    subscriber.us.require(in_order, expected="the order of sending", got="another", step="the values")


def publisher_push(publisher: Party, number: int) -> Push:
    """One of several values."""
    return Push(key=publisher.key("k"), exts=Exts(sane.SURELY), body=Put(payload=bytes([number])))


@case(
    "push/push-mapping-side",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(how=("scope", "scope-and-suffix", "name")),
    is_heard=True,
)
def a_number_of_the_sender_names_the_key(scene: Scene, *, how: str) -> None:
    """
    A publication names its key by a number that its sender has declared, by number and suffix, or by its name.

        publisher  DECLARE (key expression), PUSH (M, that number)
        target     to the subscriber: PUSH, the whole key
    """
    publisher, subscriber = heard_of(scene)
    number = publisher.names_key("k/a")
    key = {"scope": number, "scope-and-suffix": replaced(number, "/b"), "name": publisher.key("k/a/b/c")}[how]

    publisher.puts(key, b"1")

    subscriber.expect_push({"scope": "k/a", "scope-and-suffix": "k/a/b", "name": "k/a/b/c"}[how], step="the key")


def replaced(number: WireExpr, suffix: str) -> WireExpr:
    """A number with a suffix."""
    return WireExpr(scope=number.scope, suffix=suffix, mapping=number.mapping)


@case("primitives/wire-expr-concatenates", needs=ROUTES, control=a_number_of_the_sender_names_the_key, is_heard=True)
def a_suffix_is_put_to_the_scope_as_it_stands(scene: Scene) -> None:
    """
    Scope and suffix are joined without a separator: k/a and b are k/ab, not k/a/b.

        publisher  DECLARE (key expression k/a), PUSH (that number, suffix b)
        target     to the subscriber: PUSH of k/ab
    """
    publisher, subscriber = heard_of(scene)
    publisher.puts(replaced(publisher.names_key("k/a"), "b"), b"1")

    subscriber.expect_push("k/ab", step="the key")


@case("push/push-mapping-side", needs=ROUTES, control=a_number_of_the_sender_names_the_key)
def a_number_of_the_receiver_is_its_own(scene: Scene) -> None:
    """
    Both sides have declared the same number, for different keys: M tells whose is meant.

        publisher  INTEREST (key expressions, subscribers)
        target     DECLARE (key expression: number n for k/theirs), DECLARE (subscriber)
        publisher  DECLARE (key expression: number n for k/ours), PUSH (n, without M)
        target     to the subscriber: PUSH of k/theirs
        publisher  PUSH (n, with M)
        target     to the subscriber: PUSH of k/ours
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    numbers = numbers_of_the_target(publisher, subscriber)
    subscriber.declares_subscriber("k/ours")
    if not numbers:
        scene.follows(None)
        return  # it names nothing by number, so that there is nothing to mistake
    publisher.names_key("k/ours", numbers[0])

    publisher.puts(WireExpr(scope=numbers[0], mapping=False), b"1")
    subscriber.expect_push("k/theirs", step="without M")
    publisher.puts(WireExpr(scope=numbers[0], mapping=True), b"2")
    subscriber.expect_push("k/ours", step="with M")


def numbers_of_the_target(asker: Party, owner: Party) -> list[int]:
    """The numbers that the target gives to k/theirs when an interest asks for keys, too, and a session subscribes to it."""
    wanted = InterestOptions.KEY_EXPRS | InterestOptions.SUBSCRIBERS
    asker.asks_interest(wanted, InterestMode.CURRENT_FUTURE, "k/theirs/**")
    asker.settles()
    for key in ("k/theirs", "k/theirs/more", "k/theirs/third", "k/theirs/fourth"):
        owner.declares_subscriber(key)
    asker.now()
    theirs = asker.names.spaces[asker.us.wire.side.other]
    return [number for number, key in theirs.items() if key == asker.whole("k/theirs")]


@case(
    "push/push-mapping-side",
    needs=ROUTES,
    control=a_number_of_the_sender_names_the_key,
    parameters=grid(released=(False, True)),
    breaks=("law/scope-is-declared",),
    is_heard=True,
)
def a_number_of_nobody_names_nothing(scene: Scene, *, released: bool) -> None:
    """
    A number that was never declared, or was released, names no key: such a publication goes to nobody.

        publisher  PUSH (a number that nothing stands for)
        target     to the subscriber: nothing
    """
    publisher, subscriber = heard_of(scene)
    number = WireExpr(scope=77, suffix="k" if not released else None, mapping=True)
    if released:
        number = publisher.names_key("k/a")
        publisher.releases_key(number.scope)

    publisher.puts(number, b"1")
    publisher.settles_or_ends()

    subscriber.expect_no_push(but=1)


@case(
    "push/push-mapping-side",
    needs=ROUTES,
    control=a_number_of_the_sender_names_the_key,
    breaks=("law/scope-is-declared",),
)
def a_number_of_another_session_names_nothing(scene: Scene) -> None:
    """
    A number that another session has declared is none of the sender's: such a publication goes to nobody.

        subscriber  DECLARE (key expression: a number for k/a)
        publisher   PUSH (that number)
        target      to the subscriber: nothing
    """
    publisher, subscriber = heard_of(scene)
    number = subscriber.names_key("k/a")
    subscriber.settles()

    publisher.puts(number, b"1")
    publisher.settles_or_ends()

    subscriber.expect_no_push(but=1)


@case("close/session-close-ends-session", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def who_comes_again_has_subscribed_to_nothing(scene: Scene) -> None:
    """
    A node closes its session and begins another one: what it had subscribed to before comes no more.

        subscriber  CLOSE (S), and a new session of the same node
        publisher   PUSH
        target      to the new session: nothing
    """
    publisher, subscriber = heard_of(scene)
    subscriber.leaves()
    again = Party(comes_back(scene, subscriber.us.zid, step="not reached: a new session"), "again", publisher.root)

    publisher.puts("k", b"1")
    publisher.settles()

    again.expect_no_push(step="what the session before had subscribed to")


@case("declarations/expr-ids-session-local", needs=ROUTES, control=a_number_of_the_sender_names_the_key)
def two_sessions_may_use_the_same_number(scene: Scene) -> None:
    """
    The same number stands for one key in one session and for another in another one.

        one, other  DECLARE (key expression 5), for k/one and k/other
        each        PUSH (5)
        target      to the subscriber: PUSH of k/one, PUSH of k/other
    """
    one, subscriber = heard_of(scene)
    other = one_more(scene, "other", one)
    keys = [each.names_key(f"k/{name}", 5) for each, name in ((one, "one"), (other, "other"))]

    one.puts(keys[0], b"1")
    subscriber.expect_push("k/one", step="the one's key")
    other.puts(keys[1], b"2")
    subscriber.expect_push("k/other", step="the other's key")


@case("declarations/released-expr-id-reusable", needs=ROUTES, control=a_number_of_the_sender_names_the_key)
def a_released_number_may_stand_for_another_key(scene: Scene) -> None:
    """
    A number that was released is given to another key, and stands for it alone and before a suffix; what was declared by it stays.

        publisher  DECLARE (5 is k/a), DECLARE (subscriber of 5, queryable of 5, token of 5), DECLARE (5 is released)
        publisher  DECLARE (5 is k/b), PUSH (5), PUSH (5 and /c)
        target     to the subscriber: PUSH of k/b, PUSH of k/b/c
    """
    publisher, subscriber = heard_of(scene)
    number = publisher.names_key("k/a", 5)
    for declares in (publisher.declares_subscriber, publisher.declares_queryable, publisher.declares_token):
        declares(number)
    publisher.releases_key(5)

    publisher.puts(publisher.names_key("k/b", 5), b"1")
    subscriber.expect_push("k/b", step="the new key")
    publisher.puts(WireExpr(scope=5, suffix="/c", mapping=True), b"2")
    subscriber.expect_push("k/b/c", step="the new key and a suffix")

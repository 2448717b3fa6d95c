"""The real router with one fault each in what it passes on: a requirement of queries, replies, push or declarations notices it."""

from __future__ import annotations

from pathlib import Path

import pytest
from through_scripts import convicted, silent

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.programs import processes

pytestmark = pytest.mark.spread

WHEEL = "wheel:1.10.2"
PUSH, QUERY = "routing-plain/a-publication-reaches-a-subscriber", "routing-plain/a-query-reaches-a-queryable"
REACHES, ASKED = "push/push-reaches-intersecting", "query/query-reaches-intersecting"
TOLD, ERROR = "interest-snapshots/who-asks-is-told", "reply-values/an-error-comes-as-one"
FORWARDED = "declarations/forwarded-on-interest"
FIELDS = "reply-values/a-query-comes-with-all-its-fields"

FAULTS = [
    ("double:push", PUSH, REACHES),
    ("double:request", QUERY, "query/request-id-not-in-use"),
    ("double:declare", "interest-snapshots/what-is-declared-again-is-told-once", "declarations/entity-sent-once"),
]
MORE = [
    ("drop:push", PUSH, REACHES),
    ("set:push.key.suffix.bytes=other", PUSH, REACHES),
    ("set:push.key.scope=77", PUSH, "primitives/scope-is-declared"),
    ("drop:push@2", "push-delivery/values-come-in-order", "push/put-delivers-value"),
    ("drop:push.exts.qos", "push-values/priority-and-congestion-control-pass", "message-reference/qos-default-priority"),
    ("drop:push.put.exts.attachment", "push-values/an-attachment-passes-unchanged", "message-reference/attachment-opaque"),
    ("drop:push.put.exts.source_info", "push-values/the-source-passes-unchanged", "push/source-info-names-origin"),
    ("set:push.put.encoding.id=7", "push-values/a-value-comes-with-all-its-fields", "push/put-delivers-value"),
    ("set:push.del.timestamp.time=1", "push-values/a-deletion-comes-as-one", "push/del-signals-deletion"),
    ("set:frame.exts.qos.value=1", "push-values/priority-and-congestion-control-pass", "batching/frame-carries-priority"),
    ("drop:request", QUERY, ASKED),
    ("set:request.key.suffix.bytes=other", QUERY, ASKED),
    ("set:request.id=5", "query-targets/two-queriers-may-use-the-same-id", "query/request-id-not-in-use"),
    ("set:request.id=300", "query-ends/a-query-fits-the-range-of-who-gets-it", "query/request-id-in-range"),
    ("set:request.query.consolidation=9", FIELDS, "query/query-consolidation"),
    ("drop:request.query.exts.query_body", FIELDS, "query/query-ext-query-body"),
    ("set:request.query.parameters.bytes=x", "reply-values/parameters-pass-unchanged", "query/parameters-opaque"),
    ("set:request.exts.budget.value=0", "query-ends/no-more-answers-come-than-the-budget-wants", "query/budget-not-zero"),
    ("drop:response", QUERY, ASKED),
    ("double:response", QUERY, ASKED),
    ("set:response.id=99", QUERY, "reply/response-correlates"),
    ("set:response.reply.put.payload.bytes=z", QUERY, ASKED),
    ("set:response.key.suffix.bytes=other", "reply-values/an-answer-keeps-its-key", "reply/response-key-of-value"),
    ("drop:response.exts.responder_id", "reply-values/the-responder-passes-unchanged", "reply/responder-id-names-replier"),
    ("drop:response.reply.put.exts.attachment", "reply-values/an-answer-comes-with-all-its-fields",
     "reply/reply-carries-put-semantics"),
    ("set:response.err.encoding.id=7", ERROR, "reply/err-reaches-querier"),
    ("set:response.err.payload.bytes=z", ERROR, "reply/err-reaches-querier"),
    ("double:response_final", QUERY, "reply/exactly-one-final"),
    ("double:declare", "interest-snapshots/a-snapshot-ends", "interests/snapshot-ends-with-final"),
    ("set:declare.interest_id=99", "interest-snapshots/a-snapshot-names-its-interest", "interests/snapshot-sets-interest-id"),
    ("drop:declare.d_queryable.exts.queryable_info", "interest-snapshots/completeness-is-told", FORWARDED),
    ("set:declare.u_token.id=99", TOLD, "declarations/undeclared-was-declared"),
    ("set:declare.d_token.key.suffix.bytes=other", TOLD, FORWARDED),
    ("drop:declare", TOLD, FORWARDED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "only", "requirement"), [*FAULTS, *(pytest.param(*fault, marks=pytest.mark.soak) for fault in MORE)]
)
def test_a_fault_in_what_the_real_router_passes_on_is_noticed(
    tmp_path: Path, rule: str, only: str, requirement: str
) -> None:
    target, out = f"{WHEEL}?through={rule}", tmp_path / "r"

    code = cli.invoke(["run", target, "--only", only, "--depth", "quick", "--budget", "none", "--out", str(out)])

    assert not processes.running()
    assert code == 1
    failed = {one.key.requirement for one in results.read(out).judgements if one.verdict is Verdict.FAIL}
    assert requirement in failed


@pytest.mark.soak
def test_of_all_scripts_of_these_nineteen_in_twenty_convict_and_none_accuses_the_router_itself(tmp_path: Path) -> None:
    said = convicted(tmp_path, WHEEL, [*FAULTS, *MORE])
    assert len(silent(said)) <= len(said) / 20

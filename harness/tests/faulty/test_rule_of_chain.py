"""A chain of extensions that is not refused breaks the requirement that names what is wrong with it."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke


@pytest.mark.parametrize(
    "case", ["establishment-extensions/a-broken-chain-is", "initiator-extensions/a-broken-chain-of-ours-is"]
)
@pytest.mark.parametrize(
    ("what", "requirement"),
    [("encoding-3", "extension-encoding-3-refused"), ("integer-cut", "truncated-is-refused")],
)
def test_a_node_that_reads_broken_chains(case: str, what: str, requirement: str) -> None:
    found, _ = provoke(
        all_cases()[f"{case}-refused"],
        {"message": "init", "what": what},
        all_faulty_nodes()["reads-broken-chains"].node,
    )

    assert {finding.requirement for finding in found} == {f"primitives/{requirement}"}

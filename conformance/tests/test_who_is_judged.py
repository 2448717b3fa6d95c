"""A check is filed under a requirement that binds whom it judges: its level, and the blame, come from there."""

from __future__ import annotations

from inspect import getsource

import pytest

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.spec.requirement import requirements

CASES = list(all_cases().values())


def ids(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_case_stands_under_a_requirement_that_binds_the_role_that_it_judges(case: Case) -> None:
    assert requirements()[case.requirement].binds != case.role.other.value


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_refusal_stands_under_no_requirement_on_who_sends(case: Case) -> None:
    if "expect_refusal(" in getsource(case.function):
        assert requirements()[case.requirement].binds != "sender"

"""The session tables, row by row: what each state takes, and that everything else ends the session."""

import pytest

from zenoh_conformance.tables.session import ANSWERS, INITIATOR, RESPONDER, START, SessionInput, State, path_to, step

ENDS = {"Close": "closed", "link-end": "closed"}
LIVE = {"Frame": "live", "Fragment": "live", "KeepAlive": "live", "Oam": "live", **ENDS}

ROWS = {
    ("responder", "await-init"): {"InitSyn": "init-acked", **ENDS},
    ("responder", "init-acked"): {"OpenSyn": "live", **ENDS},
    ("responder", "live"): LIVE,
    ("responder", "closed"): {},
    ("initiator", "init-sent"): {"InitAck": "open-sent", **ENDS},
    ("initiator", "open-sent"): {"OpenAck": "live", **ENDS},
    ("initiator", "live"): LIVE,
    ("initiator", "closed"): {},
}

TABLES = {"responder": RESPONDER, "initiator": INITIATOR}

ANSWERED = {
    ("await-init", "InitSyn"): "InitAck",
    ("init-acked", "OpenSyn"): "OpenAck",
    ("init-sent", "InitAck"): "OpenSyn",
}

PATHS = {
    ("responder", "live"): ["InitSyn", "OpenSyn"],
    ("responder", "init-acked"): ["InitSyn"],
    ("responder", "closed"): ["Close"],
    ("initiator", "live"): ["InitAck", "OpenAck"],
    ("initiator", "open-sent"): ["InitAck"],
}


def test_the_tables_have_these_rows_and_no_other():
    assert {(side, state.value) for side, table in TABLES.items() for state in table} == set(ROWS)


@pytest.mark.parametrize("row", ROWS, ids="-".join)
@pytest.mark.parametrize("seen", SessionInput, ids=lambda seen: seen.value)
def test_each_step_of_each_row(row, seen):
    side, state = row
    listed = TABLES[side][State(state)].get(seen)
    assert (listed.value if listed else None) == ROWS[row].get(seen.value)
    assert step(TABLES[side], State(state), seen).value == ROWS[row].get(seen.value, "closed")


def test_where_each_side_starts():
    assert {side: state.value for side, state in START.items()} == {"responder": "await-init", "initiator": "init-sent"}


def test_what_must_be_answered():
    assert {(state.value, seen.value): answer.value for (state, seen), answer in ANSWERS.items()} == ANSWERED


@pytest.mark.parametrize("way", PATHS, ids="-".join)
def test_the_shortest_way_to_a_state(way):
    side, goal = way
    assert [seen.value for seen in path_to(TABLES[side], START[side], State(goal))] == PATHS[way]


def test_there_is_no_way_to_a_state_of_the_other_side():
    with pytest.raises(KeyError):
        path_to(RESPONDER, State.AWAIT_INIT, State.OPEN_SENT)

"""Stock zenoh-rust nodes, configured as their users configure them: nothing is red that the list which ships does not tell."""

import json
import shlex
from pathlib import Path

import pytest

from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with

VERSION = "1.10.2"
NODE = Path(__file__).parents[1] / "stock_node.py"

UNICAST, TX, RX = "transport/unicast/", "transport/link/tx/", "transport/link/rx/"
OPEN = {"enabled": True, "default_permission": "allow", "rules": [], "subjects": [], "policies": []}
SECRET = {
    "id": "secret", "permission": "deny", "flows": ["egress", "ingress"], "messages": ["put", "delete", "query", "reply"],
    "key_exprs": ["secret/**"],
}  # fmt: skip
WITH_A_SECRET = {
    **OPEN, "rules": [SECRET], "subjects": [{"id": "all"}], "policies": [{"rules": ["secret"], "subjects": ["all"]}],
}  # fmt: skip
CLASSES = ("control", "real_time", "interactive_high", "interactive_low", "data_high", "data", "data_low", "background")

ROUTERS = {
    "as it comes, but for the network": {},
    "one session": {UNICAST + "max_sessions": 1},
    "two sessions": {UNICAST + "max_sessions": 2},
    "four sessions": {UNICAST + "max_sessions": 4},
    "two links": {UNICAST + "max_links": 2},
    "one handshake": {UNICAST + "accept_pending": 1},
    "three handshakes": {UNICAST + "accept_pending": 3},
    "five handshakes": {UNICAST + "accept_pending": 5},
    "a fifth of a second for a handshake": {UNICAST + "accept_timeout": 200},
    "half a second for a handshake": {UNICAST + "accept_timeout": 500},
    "a second for either handshake": {UNICAST + "accept_timeout": 1000, UNICAST + "open_timeout": 1000},
    "batches of 1024": {TX + "batch_size": 1024},
    "batches of 2048": {TX + "batch_size": 2048},
    "the largest batches": {TX + "batch_size": 65535},
    "a lease of two seconds": {TX + "lease": 2000},
    "a lease of an hour": {TX + "lease": 3600000},
    "ten keep-alives a lease": {TX + "keep_alive": 10},
    "8 bits": {TX + "sequence_number_resolution": "8bit"},
    "16 bits": {TX + "sequence_number_resolution": "16bit"},
    "no lanes": {UNICAST + "qos/enabled": False},
    "compression": {UNICAST + "compression/enabled": True},
    "low latency": {UNICAST + "qos/enabled": False, UNICAST + "lowlatency": True},
    "queues of one": {TX + "queue/size": dict.fromkeys(CLASSES, 1)},
    "no batching": {TX + "queue/batching/enabled": False},
    "messages of a megabyte": {RX + "max_message_size": 1 << 20},
    "messages of 64 kilobytes": {RX + "max_message_size": 1 << 16},
    "no timestamps": {"timestamping/enabled": False},
    "no shared memory": {"transport/shared_memory/enabled": False},
    "the admin space": {"adminspace": {"enabled": True, "permissions": {"read": True, "write": True}}},
    "everything is permitted": {"access_control": OPEN},
    "some keys are forbidden": {"access_control": WITH_A_SECRET},
}
"""Configurations of a router that listens."""

OTHERS = {
    "a peer listens": (
        "&role=peer&as=responder", {"mode": "peer", "listen/endpoints": ["{locator}"], "connect/endpoints": []},
    ),
    "a peer comes": ("&role=peer", {"mode": "peer"}),
    "a client comes": ("&role=client", {"mode": "client"}),
    "a router comes": (
        "&role=router&as=initiator", {"listen/endpoints": [], "connect/endpoints": ["{locator}"]},
    ),
}  # fmt: skip
"""The other kinds, with the retry that they come with."""

SAMPLE = {
    "two sessions": ("models/establishment", "scripts/*", "routing-plain/*", "establishment-limits/*"),
    "three handshakes": ("establishment-states/*parallel*", "establishment-states/a-short*", "establishment-cookie/*"),
    "half a second for a handshake": ("establishment-states/a-short-pause-is-endured",),
}
"""The checks that each of a few is tried with each time."""


@pytest.fixture(scope="module")
def python():
    return python_with("eclipse-zenoh", VERSION)


def judged(folder, python, values, options="", only=()):
    """The exit code, and whatever is red."""
    given = [f"{path}={json.dumps(value)}" for path, value in {"scouting/multicast/enabled": False, **values}.items()]
    command = shlex.join([str(python), str(NODE), "{locator}", *given])
    selected = [word for check in only for word in ("--only", check)]
    target = f"exec:{command}?name=zenoh-rust&version={VERSION}{options}"
    code = cli.invoke(["run", target, "--depth", "quick", "--budget", "none", *selected, "--out", str(folder), "-q"])
    assert not processes.running()
    fine = ("pass", "known", "not-observed", "not-applicable")
    return code, [
        (one.key.check, one.key.parameters, one.verdict.value, one.cause)
        for one in results.read(folder).judgements
        if one.verdict.value not in fine
    ]


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_red_on_a_router_with_small_limits(name, python, tmp_path):
    assert judged(tmp_path, python, ROUTERS[name], only=SAMPLE[name]) == (0, [])


@pytest.mark.soak
@pytest.mark.parametrize("name", ROUTERS)
def test_nothing_is_red_on_a_router_of_any_configuration(name, python, tmp_path):
    code, red = judged(tmp_path, python, ROUTERS[name])
    assert [one for one in red if one[2] != "slow"] == []
    assert code == 0


@pytest.mark.soak
@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_red_on_a_stock_node_of_another_kind(name, python, tmp_path):
    options, values = OTHERS[name]
    code, red = judged(tmp_path, python, values, options)
    assert [one for one in red if one[2] != "slow"] == []
    assert code == 0

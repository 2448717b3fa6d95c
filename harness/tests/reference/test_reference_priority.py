"""The reference's own look at a message's priority: the low three bits of its QoS extension, 5 where there is none."""

import pytest

from zenoh_conformance import sane
from zenoh_conformance.messages import Del, Push
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import NO_EXTS, exts
from zenoh_harness.reference.router import priority_of

PRIORITIES = {None: 5, **{value: value for value in range(8)}, 0x08: 0, 0x0D: 5, 0x1F: 7, 0x3C: 4}


@pytest.mark.parametrize("value", PRIORITIES)
def test_the_priority_of_a_network_message(value):
    marks = NO_EXTS if value is None else exts(sane.qos(value))
    assert priority_of(Push(key=WireExpr(1), body=Del(), exts=marks)) == PRIORITIES[value]

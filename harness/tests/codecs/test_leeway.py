"""What a codec may lose when it writes again what it read, and what it may not."""

import pytest

from zenoh_conformance.messages import frame, network
from zenoh_conformance.wire import registry
from zenoh_harness.codecs import written
from zenoh_harness.codecs.leeway import clear_reserved
from zenoh_harness.codecs.own import OwnCodec


def fault(layer, read, wrote):
    """How bytes that were written differ from those that were read, as a user is told."""
    return written.fault_of(layer, bytes.fromhex(wrote), OwnCodec().decode(layer, bytes.fromhex(read)).means)


@pytest.mark.parametrize(
    ("layer", "read", "wrote"),
    [
        ("network", "bd 00 01 61 47 02 01 00 01 01 76", "3d 00 01 61 01 01 76"),  # TsStack
        ("network", "3c 09 00 01 61 83 04", "3c 09 00 01 61 03"),  # BodyShm
        ("transport", "a5 07 31 0d 1a 05", "a5 07 31 05 1a 05"),
        ("transport", "a5 07 31 0d 1a 05", "25 07 1a 05"),  # without the reserved bit the default
        ("transport", "80 01 31 83 01", "80 01 31 03"),
        ("transport", "41 09 32 c4 c3 c2 c1 2a ff ff", "41 09 32 c4 c3 c2 c1 0a ff ff"),
        ("network", "3d 00 01 61 81 0d 01 76", "3d 00 01 61 01 01 76"),  # an unknown optional extension
        ("network", "3d 00 01 61 81 8d 2e 05 01 76", "3d 00 01 61 81 2e 05 01 76"),  # one of two
        ("transport", "e2 00 00 a2 00 42 00", "e2 00 00 22 00"),  # ShmAnswer, and not Shm
        ("transport", "e2 00 00 27 a7 09", "e2 00 00 27 a7 01"),
        ("transport", "81 09 32 c4 c3 c2 c1 42 01 52", "01 09 32 c4 c3 c2 c1"),  # Shm
    ],
)
def test_what_may_be_lost_is_no_fault(layer, read, wrote):
    assert fault(layer, read, wrote) == ""
    assert fault(layer, wrote, read) != ""


@pytest.mark.parametrize(
    ("layer", "read", "wrote"),
    [
        ("network", "3d 00 01 61 81 0d 01 76", "3d 00 01 61 81 0e 01 76"),  # another unknown extension
        ("network", "3d 00 01 61 81 43 01 78 01 76", "3d 00 01 61 01 01 76"),  # the attachment
        ("transport", "a5 07 31 0d 1a 05", "a5 07 31 04 1a 05"),
        ("network", "bd 00 01 61 21 0d 01 01 76", "bd 00 01 61 21 05 01 01 76"),  # D is no reserved bit
        ("transport", "41 09 32 c4 c3 c2 c1 2a ff ff", "41 09 32 c4 c3 c2 c1 09 ff ff"),
    ],
)
def test_what_may_not_be_lost_is_a_fault(layer, read, wrote):
    assert fault(layer, read, wrote) != ""


def test_reserved_bits_are_those_of_the_declarations():
    for place, cls in (("Frame.QoS", frame.QoS), ("Push.QoS", network.QoS)):
        [field] = registry.of(cls).fields
        assert clear_reserved(place, {"value": 0xFF}) == {"value": 0xFF & ~field.wire.reserved}
    assert clear_reserved("Init", {"resolution": 0x0A}) == {}

"""Old module names give the modules that replaced them."""

import importlib
import sys

import pytest

from zenoh_conformance import _moved


@pytest.mark.parametrize(
    "old",
    [*_moved.MOVED, "zenoh_conformance.cases.establishment_sane", "zenoh_conformance.cases.routing_plain"],
)
def test_an_old_name_gives_the_new_module(old):
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=old):
        module = importlib.import_module(old)
    new = importlib.import_module(_moved.new_name(old))
    assert module is new
    assert new.__spec__.name == new.__name__ == _moved.new_name(old)


def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("zenoh_conformance.nothing")

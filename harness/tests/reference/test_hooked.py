"""Nodes made from functions and values in place of hooks and attributes."""

from __future__ import annotations

from typing import Any

import pytest

from zenoh_harness.reference import Reference
from zenoh_harness.reference.application import Application
from zenoh_harness.reference.hooked import derive_node, name_of


def test_a_function_gets_the_node_and_the_hook_that_it_replaces() -> None:
    node = derive_node(
        "takes-ten-less", {"choose_batch": lambda node, base, proposed: base(proposed) - node.config.patch}
    )

    assert node().choose_batch(100) == 99
    assert node.__name__ == "TakesTenLess"


def test_it_takes_by_name_what_it_needs() -> None:
    node = derive_node("takes-its-own", {"choose_batch": lambda node: node.config.batch_size})

    assert node().choose_batch(100) == node().config.batch_size


def test_base_without_arguments_gets_those_of_the_hook_and_with_a_name_another_one() -> None:
    same = derive_node("takes-the-same", {"choose_batch": lambda base: base()})
    less = derive_node("takes-one-less", {"choose_batch": lambda base, proposed: base(proposed=proposed - 1)})

    assert (same().choose_batch(100), less().choose_batch(100)) == (100, 99)


def test_base_has_no_other_arguments_than_the_hook() -> None:
    node = derive_node("takes-another", {"choose_batch": lambda base: base(offered=1)})

    with pytest.raises(TypeError, match="TakesAnother: choose_batch has no parameter offered"):
        node().choose_batch(100)


def test_keyword_arguments_and_any_number_of_them_are_taken_by_name_too() -> None:
    sent: list[Any] = []
    node = derive_node("says-and-sends", {
        "say": lambda message, reliable: sent.append((message, reliable)), "send": lambda messages: sent.append(messages),
    })  # fmt: skip

    node().say(None, 1)  # type: ignore[arg-type]
    node().send(None, 2, 3)  # type: ignore[arg-type]
    assert sent == [(1, True), (2, 3)]


def test_an_attribute_has_another_value() -> None:
    assert derive_node("routes-nothing", {"lacks": frozenset({"routing"})}).lacks == {"routing"}


def test_an_application_stands_above_the_reference() -> None:
    node = derive_node("stamps-nothing", {"stamp": lambda node, base: None}, Application)

    assert issubclass(node, Reference)
    assert node().application.stamp() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"choose_bach": lambda node, base: 0}, "Reference has no hook 'choose_bach'"),
        ({"setings": {}}, "Reference has no attribute setings"),
        ({"choose_batch": lambda node, base, offered: 0}, r"are \(node, base, proposed\)"),
        ({"choose_batch": lambda base, proposed, **options: 0}, r"are \(node, base, proposed\)"),
    ],
)
def test_what_the_reference_does_not_have_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        derive_node("a-node", changes)


def test_the_rest_of_the_parameters_may_be_left_open() -> None:
    assert derive_node("says-nothing", {"say": lambda node, base, *said, **how: None})


class Takes2Links:
    """A class whose name has a number."""


def test_a_name_is_that_of_a_function_or_class_in_words() -> None:
    assert name_of(Takes2Links) == "takes-2-links"
    assert name_of(test_an_attribute_has_another_value) == "test-an-attribute-has-another-value"

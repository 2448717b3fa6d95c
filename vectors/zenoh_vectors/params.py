"""The vectors as pytest parameters, one test per vector:

@pytest.mark.parametrize("vector", vector_params(layer="network"))
def test_my_decoder(vector): ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zenoh_vectors.loader import Vector, load

if TYPE_CHECKING:
    from collections.abc import Collection


def select(
    *, layer: str | Collection[str] = (), refused: bool | None = None, prefix: str = ""
) -> list[tuple[str, Vector]]:
    """The names and vectors of these layers, refused or not, with this prefix of the id; each step of a conversation."""
    layers = (layer,) if isinstance(layer, str) else tuple(layer)
    out = []
    for vector in load():
        for number, part in enumerate(vector.parts):
            wanted = not layers or part.layer in layers
            if wanted and vector.id.startswith(prefix) and refused in (None, part.refuses is not None):
                out.append((f"{vector.id}[{number}]" if vector.steps else vector.id, part))
    return out


def vector_params(*, layer: str | Collection[str] = (), refused: bool | None = None, prefix: str = "") -> list[Any]:
    """`pytest.param` objects with the vectors' ids."""
    import pytest

    return [pytest.param(vector, id=name) for name, vector in select(layer=layer, refused=refused, prefix=prefix)]

"""Golden vectors as data, with their schema and loader."""

from zenoh_vectors.loader import (
    Remark,
    Vector,
    VectorErratum,
    VectorError,
    VectorRefusal,
    VectorSegment,
    load,
    load_file,
)

__all__ = ["Remark", "Vector", "VectorErratum", "VectorError", "VectorRefusal", "VectorSegment", "load", "load_file"]

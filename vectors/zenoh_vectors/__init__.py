"""Which bytes: golden vectors as data, their schema and loader."""

from zenoh_vectors.loader import Erratum, Refusal, Remark, Segment, Vector, VectorError, load, load_file

__all__ = ["Erratum", "Refusal", "Remark", "Segment", "Vector", "VectorError", "load", "load_file"]

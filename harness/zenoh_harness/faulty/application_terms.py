"""Initiators that keep to what they proposed, whatever InitAck settled: seen in what their application says and hears."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance import sane
from zenoh_conformance.conversation import Side
from zenoh_conformance.messages import Init
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link, Terms

from . import faulty

TERMS = "application-terms"


@faulty(
    "initiator-keeps-its-lanes",
    caught_by=(f"{TERMS}/an-application-uses-no-lanes-that-we-declined", "law/qos-needs-both"),
)
class InitiatorKeepsItsLanes(Reference):
    """Uses the lanes that it offered, though InitAck has none."""

    def settle_ack(self, link: Link, ack: Init) -> Terms:
        return replace(super().settle_ack(link, ack), qos=self.config.qos)


@faulty("initiator-keeps-its-patch", caught_by=f"{TERMS}/an-application-needs-no-marks-that-we-declined")
class InitiatorKeepsItsPatch(Reference):
    """Takes its patch for settled, though InitAck has none, and drops fragments without First."""

    def settle_ack(self, link: Link, ack: Init) -> Terms:
        return replace(super().settle_ack(link, ack), patch=self.config.patch)


@faulty(
    "initiator-believes-a-larger-batch",
    caught_by=f"{TERMS}/an-application-keeps-to-the-smaller-batch",
    also={"law/batch-size-is-receive-limit": "what its application says is larger than the batch"},
)
class InitiatorBelievesALargerBatch(Reference):
    """Fills batches up to what InitAck says, though it proposed less."""

    def settle_ack(self, link: Link, ack: Init) -> Terms:
        return replace(
            super().settle_ack(link, ack), batch_size=sane.DEFAULT_BATCH if ack.batch_size is None else ack.batch_size
        )


@faulty("initiator-serves-ids-as-proposed", caught_by=f"{TERMS}/an-application-serves-no-id-that-we-ruled-out")
class InitiatorServesIdsAsProposed(Reference):
    """Serves request ids of the range that it proposed, though InitAck lowered it."""

    def serves_id(self, link: Link, number: int) -> bool:
        return number < 1 << 32 if link.side is Side.INITIATOR else super().serves_id(link, number)

"""All that a run imports, before pytest is started inside a test: pytester forgets at a test's end what was imported in it."""

from __future__ import annotations

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.loading import import_all
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.faulty import all_faulty_nodes

PACKAGES = ("zenoh_conformance.models", "zenoh_harness.run", "zenoh_harness.targets.adapters", "zenoh_harness.files")


def import_all_of_a_run() -> None:
    """Import cases, laws, models, faulty nodes, adapters, and what runs them."""
    for package in PACKAGES:
        import_all(package)
    assert all_cases() and all_laws() and all_faulty_nodes() and requirements()

"""JUnit XML from results: one test case a judgement. No clock, no host: same results, same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from zenoh_conformance.verdict import Judgement, Verdict
from zenoh_harness.files.results import Results, check_label

FAILURES: Final = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.HANG, Verdict.ZOMBIE, Verdict.FLAKY})
SKIPPED: Final = frozenset({Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED, Verdict.UNIMPLEMENTED})


def write(results: Iterable[Results], path: Path, *, strict: bool = False) -> None:
    """Write the file; with `strict`, `warn` and `slow` are failures too."""
    root = Element("testsuites", name="zenoh-conformance")
    for one in results:
        root.append(suite(one, strict=strict))
    indent(root)
    with path.open("wb") as out:
        ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
        out.write(b"\n")


def suite(results: Results, *, strict: bool = False) -> Element:
    """One target as a test suite; what was pending are errors."""
    header = results.header
    name = safe(f"{header.name} {header.version}".strip())
    element = Element("testsuite", name=name)
    properties = SubElement(element, "properties")
    for key, value in (
        ("reach", header.reach),
        ("spec", header.spec),
        ("harness", header.harness),
        ("seed", header.seed),
    ):
        SubElement(properties, "property", name=key, value=safe(str(value)))
    for judgement in results.judgements:
        element.append(case(judgement, strict=strict))
    for label in results.pending:
        pending = SubElement(element, "testcase", classname="pending", name=safe(label))
        SubElement(pending, "error", message="the run ended before this was judged", type="pending")
    if results.footer is not None and results.footer.embargoed:
        text = SubElement(properties, "property", name="embargoed")
        text.set("value", str(results.footer.embargoed))
    for attribute, tags in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        element.set(attribute, str(sum(1 for _ in element.iter(tags))))
    return element


def case(judgement: Judgement, *, strict: bool = False) -> Element:
    """One judgement as a test case."""
    key, verdict = judgement.key, judgement.verdict
    name = check_label(key.check, key.parameters)
    element = Element("testcase", classname=safe(f"{key.role}.{key.profile}.{key.requirement}"), name=safe(name))
    cause = safe(judgement.cause)
    if verdict in FAILURES or (strict and verdict in (Verdict.WARN, Verdict.SLOW)):
        failure = SubElement(element, "failure", message=cause, type=verdict.value)
        failure.text = safe("\n".join(part for part in (judgement.cause, judgement.end, judgement.repeat) if part))
    elif verdict is Verdict.ERROR:
        SubElement(element, "error", message=cause, type="error")
    elif verdict in SKIPPED:
        SubElement(element, "skipped", message=f"{verdict.value}: {cause}".removesuffix(": "))
    elif verdict is not Verdict.PASS:
        SubElement(element, "system-out").text = f"{verdict.value}: {cause}"
    return element


def safe(text: str) -> str:
    """Text that XML can hold: what it cannot is shown as an escape."""
    return "".join(char if _holds(ord(char)) else f"\\x{ord(char):02x}" for char in text)


def _holds(code: int) -> bool:
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000

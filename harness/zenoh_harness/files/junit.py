"""Write results as JUnit XML, with one test case for each judgement.

The output contains neither date nor host name: the same results give the same bytes. It follows the schema that Jenkins
checks (junit-10.xsd), which is stricter than those of other readers. The evidence of a judgement is named in the output of
its test case as `[[ATTACHMENT|path]]`, which Jenkins and GitLab show as a file.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_harness.files.results import Results, check_label

COUNTED: Final = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attribute of a test suite to the tag of the elements that it counts."""

Seconds = Callable[[Judgement], float | None]
"""Returns the seconds that the conversation of a judgement took; None if this is not known."""


def write(results: Iterable[Results], path: Path, *, strict: bool = False) -> None:
    """Write the file; with `strict`, the verdicts `warn` and `slow` are failures, too. Raises OSError."""
    path.write_bytes(text(results, strict=strict))


def text(results: Iterable[Results], *, strict: bool = False, seconds: Seconds | None = None) -> bytes:
    """Return the bytes of the file; with `strict`, the verdicts `warn` and `slow` are failures, too."""
    root = Element("testsuites", name="zenoh-conformance")
    for one in results:
        root.append(suite(one, strict=strict, seconds=seconds))
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(one.get(attribute, "0")) for one in root)))
    indent(root)
    out = io.BytesIO()
    ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue() + b"\n"


def suite(results: Results, *, strict: bool = False, seconds: Seconds | None = None) -> Element:
    """Return the results of one target as a test suite; each pending check, and a missing footer, is an error."""
    header = results.header
    element = Element("testsuite", name=safe(f"{header.name} {header.version}".strip()))
    properties = SubElement(element, "properties")
    embargoed = results.footer.embargoed if results.footer else 0
    facts = {
        "reach": header.reach, "kind": header.kind, "role": header.role, "digest": header.digest, "spec": header.spec,
        "harness": header.harness, "seed": header.seed, "command": header.command, "embargoed": embargoed or "",
    }  # fmt: skip
    for key, value in facts.items():
        if value != "":
            SubElement(properties, "property", name=key, value=safe(str(value)))
    for number, fault in enumerate(faults(one for one in results.judgements if not one.embargo), 1):
        SubElement(properties, "property", name=f"finding {number}", value=safe(fault.sentence))
    for judgement in results.judgements:
        if not judgement.embargo:
            element.append(case(judgement, strict=strict, seconds=seconds))
    for label in results.pending:
        _not_reached(element, label, "the run ended before this was judged")
    if results.footer is None and not results.pending:
        _not_reached(element, "the run", "the run ended before it could say how")
    times = [float(one.get("time", "0")) for one in element.iter("testcase")]
    element.set("time", f"{sum(times):.3f}")
    found = Counter(each.tag for each in element.iter())
    for attribute, tag in COUNTED.items():
        element.set(attribute, str(found[tag]))
    return element


def _not_reached(element: Element, label: str, why: str) -> None:
    pending = SubElement(element, "testcase", classname="pending", name=safe(label))
    SubElement(pending, "error", message=why, type="pending")


def case(judgement: Judgement, *, strict: bool = False, seconds: Seconds | None = None) -> Element:
    """Return one judgement as a test case."""
    key, verdict = judgement.key, judgement.verdict
    name = check_label(key.check, key.parameters)
    element = Element("testcase", classname=safe(f"{key.role}.{key.profile}.{key.requirement}"), name=safe(name))
    took = seconds(judgement) if seconds else None
    if took is not None:
        element.set("time", f"{took:.3f}")
    cause = safe(judgement.cause)
    output = [f"{verdict.value}: {judgement.cause}"] if verdict.is_minor or verdict is Verdict.KNOWN else []
    if verdict.is_red(strict=strict):
        failure = SubElement(element, "failure", message=cause, type=verdict.value)
        failure.text = safe("\n".join(part for part in (judgement.cause, judgement.end, judgement.repeat) if part))
        output = []
    elif verdict.is_ours:
        SubElement(element, "error", message=cause, type="error")
    elif verdict.says_nothing:
        SubElement(element, "skipped", message=f"{verdict.value}: {cause}".removesuffix(": "))
    if judgement.evidence:
        output.append(f"[[ATTACHMENT|{judgement.evidence}]]")
    if output:
        SubElement(element, "system-out").text = safe("\n".join(output))
    return element


def safe(text: str) -> str:
    r"""Return the text with each character that XML 1.0 cannot contain replaced by an escape such as `\x00`."""
    if text.isprintable():
        return text
    return "".join(char if _holds(ord(char)) else f"\\x{ord(char):02x}" for char in text)


def _holds(code: int) -> bool:
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000

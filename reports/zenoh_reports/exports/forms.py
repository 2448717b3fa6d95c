"""The files for programs that every site has, and what each is for: the site's stable addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Form:
    """One file."""

    address: str
    what: str


FORMS: Final = (
    Form("report.json", "everything that the pages say, by schema/report.schema.json"),
    Form("schema/report.schema.json", "the JSON Schema of report.json"),
    Form("schema/submission.schema.json", "the JSON Schema of a submission"),
    Form("judgements.csv", "one line a judgement"),
    Form("requirements.csv", "one line a requirement and target"),
    Form("junit.xml", "JUnit XML: a suite a target, a test case a judgement"),
    Form("report.sarif", "SARIF 2.1.0: a run a target, a rule a requirement"),
    Form("summary.md", "Markdown for a job summary or a comment"),
    Form("verify.pyz", "judges a proof again: python verify.pyz FILE"),
)

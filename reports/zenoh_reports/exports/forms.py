"""The files for programs that every site has, at stable addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site."""

    address: str
    what: str


FORMS: Final = (
    SiteFile("report.json", "the content of all pages, by schema/report.schema.json"),
    SiteFile("schema/report.schema.json", "the JSON Schema of report.json"),
    SiteFile("schema/submission.schema.json", "the JSON Schema of a submission"),
    SiteFile("judgements.csv", "one line per judgement"),
    SiteFile("requirements.csv", "one line per requirement and target"),
    SiteFile("junit.xml", "JUnit XML: one suite per target, one test case per judgement"),
    SiteFile("report.sarif", "SARIF 2.1.0: one run per target, one rule per requirement"),
    SiteFile("summary.md", "Markdown for a job summary or a comment"),
    SiteFile("verify.pyz", "verifies a proof: python verify.pyz FILE"),
)

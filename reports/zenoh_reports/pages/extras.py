"""Builds the pages of campaigns and audits from their documents."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.verdict import Verdict
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site


def make(site: Site) -> None:
    """Add the pages for which there is input."""
    documents = site.report.documents
    if not (documents.campaign or documents.audit):
        return
    from zenoh_reports.pages.draw import charts

    if documents.campaign:
        campaigns = [
            {**one, "charts": charts.of_campaign(one, f"campaign-{n}")} for n, one in enumerate(documents.campaign)
        ]
        site.page(links.CAMPAIGNS, "campaigns.html", campaigns=campaigns)
    if documents.audit:
        audits = [
            {**one, "rules": worst_first(one.get("rules", [])), "charts": charts.of_audit(one, f"audit-{n}")}
            for n, one in enumerate(documents.audit)
        ]
        site.page(links.AUDITS, "audits.html", audits=audits)


def worst_first(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules of an audit, the most severe verdict first."""
    return sorted(rules, key=lambda rule: -Verdict(rule["verdict"]).severity)

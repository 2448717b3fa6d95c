"""Campaigns and audits: pages over their documents."""

from __future__ import annotations

from zenoh_reports.pages import links
from zenoh_reports.pages.site import Site


def make(site: Site) -> None:
    """Write what there is input for."""
    documents = site.report.documents
    if not (documents.campaign or documents.audit):
        return
    from zenoh_reports.pages.draw import charts

    if documents.campaign:
        campaigns = [{**one, "charts": charts.of_campaign(one, f"campaign-{n}")} for n, one in enumerate(documents.campaign)]
        site.page(links.CAMPAIGNS, "campaigns.html", campaigns=campaigns)
    if documents.audit:
        audits = [{**one, "charts": charts.of_audit(one, f"audit-{n}")} for n, one in enumerate(documents.audit)]
        site.page(links.AUDITS, "audits.html", audits=audits)


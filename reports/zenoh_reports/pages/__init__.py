"""Builds the pages of the report: one template per page, one style sheet, no external resources."""

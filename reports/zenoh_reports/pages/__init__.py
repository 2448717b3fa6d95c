"""Tables to pages: one template a page, one style sheet, nothing fetched from elsewhere."""

"""The same results for programs: JSON, CSV, Parquet, JUnit, SARIF, badges, Markdown."""

"""Codecs as targets: ours, the Rust crate, and any that speaks over pipes."""

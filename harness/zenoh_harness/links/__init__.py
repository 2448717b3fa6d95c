"""Bytes to and from a peer: links, locators, the recording, the tap."""

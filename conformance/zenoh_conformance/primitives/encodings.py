"""The registry of encodings: the numbers below 1024 that have a name."""

from __future__ import annotations

_REGISTRY = """
    zenoh/bytes zenoh/string zenoh/serialized application/octet-stream text/plain application/json text/json
    application/cdr application/cbor application/yaml text/yaml text/json5 application/python-serialized-object
    application/protobuf application/java-serialized-object application/openmetrics-text image/png image/jpeg image/gif
    image/bmp image/webp application/xml application/x-www-form-urlencoded text/html text/xml text/css text/javascript
    text/markdown text/csv application/sql application/coap-payload application/json-patch+json application/json-seq
    application/jsonpath application/jwt application/mp4 application/soap+xml application/yang audio/aac audio/flac
    audio/mp4 audio/ogg audio/vorbis video/h261 video/h263 video/h264 video/h265 video/h266 video/mp4 video/ogg
    video/raw video/vp8 video/vp9
"""

NAMES = tuple(_REGISTRY.split())
"""The names by number, from 0 on."""

CUSTOM = 0xFFFF
"""The number of an encoding whose name is in the schema."""


def name_of(number: int) -> str:
    """`4 text/plain`; the number alone when it has no name."""
    if number < len(NAMES):
        return f"{number} {NAMES[number]}"
    return f"{number} custom" if number == CUSTOM else str(number)

"""Payloads and other fields in words."""

from __future__ import annotations


def value(octets: bytes | None, most: int = 60) -> str:
    """A payload or another field, as text where it is text, cut where it is long."""
    if octets is None:
        return "no payload"
    try:
        shown = repr(octets.decode())
    except UnicodeDecodeError:
        shown = repr(octets)
    return shown if len(shown) <= most else f"{shown[:most]}… {len(octets)} bytes"

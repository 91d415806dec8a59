"""Times in words: a moment, how far it is ahead, and how long since another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def moment(now_ms: float) -> str:
    """A time in Unix ms, as a date and as the number."""
    try:
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    except (OverflowError, ValueError):
        return f"{now_ms:.0f} ms"
    return f"{day:%Y-%m-%d %H:%M:%S}.{day.microsecond // 1000:03d} UTC ({now_ms:.0f} ms)"


def due(ahead_ms: float) -> str:
    """When a scheduled job falls due, from now."""
    return ahead("due", "was due", ahead_ms)


def ahead(later: str, before: str, ms: float) -> str:
    if ms > 0:
        return f"{later} in {ms / 1000:.3f} s"
    return f"{before} {-ms / 1000:.3f} s ago" if ms < 0 else f"{before} just now"


def since(ms: float, first_ms: int) -> str:
    """How long after the first."""
    return f"{(ms - first_ms) / 1000:+.3f} s"

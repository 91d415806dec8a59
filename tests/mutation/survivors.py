"""Mutants that no call can tell from what they are made of, and why: `tests/data/same.json`."""

from __future__ import annotations

import json
from pathlib import Path

_DATA = json.loads((Path(__file__).parents[1] / "data" / "same.json").read_text("utf-8"))

REASONS: dict[str, list[str]] = _DATA["scripts"]
"""For each reason the names of the faulty scripts."""

MODEL_REASONS: dict[str, list[str]] = _DATA["model"]
"""For each reason the names of the faulty models."""

_REASON = {
    name: text for reasons in (REASONS, MODEL_REASONS) for text, names in reasons.items() for name in names
}


def reason(mutant: str) -> str | None:
    """Why a mutant does the same; `None` where it has to be caught."""
    return _REASON.get(mutant)

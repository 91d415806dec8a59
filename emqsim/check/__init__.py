"""The check of scripts against the model: `check` runs it, a `Report` says what it found."""

from emqsim.check.report import Report
from emqsim.check.run import check

__all__ = ["Report", "check"]

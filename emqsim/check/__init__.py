"""The check of scripts against the model: `check` runs it, a `Report` says what it found."""

from emqsim.check.run import Report, check

__all__ = ["Report", "check"]

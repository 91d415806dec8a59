"""How a command ends."""

from __future__ import annotations

from emqsim.errors import MissingExtra, OutcomeUnknown, ServerError, ServerUnavailable

CONFORMS, DIVERGES, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
"""The exit statuses of all commands; 143 where one was asked to end (SIGTERM)."""

COULD_NOT = (MissingExtra, ServerUnavailable, OutcomeUnknown, ServerError, OSError, ValueError)
"""What keeps a command from running; it is told in one line."""

"""What can go wrong between us and a server, beside what the machine refuses."""

from __future__ import annotations


class ServerError(Exception):
    """The server answered with an error that is no refusal of the machine; `wire` is its text, `line` the same as
    it was sent, with `ERR` in front or what servers add behind."""

    def __init__(self, wire: str, line: str | None = None) -> None:
        super().__init__(wire)
        self.wire = wire
        self.line = wire if line is None else line


class MissingCommand(ServerError):
    """The server does not have a native `EMQ.*` command."""


class ServerUnavailable(Exception):
    """No connection could be made; nothing was sent. `timed_out` tells a server that stays silent."""

    def __init__(self, words: str, timed_out: bool = False) -> None:
        super().__init__(words)
        self.timed_out = timed_out


class OutcomeUnknown(Exception):
    """A call was sent and no answer came: it may have run, or not. It is never sent again.

    `timed_out` tells a server that stays silent from a connection that was lost.
    """

    def __init__(self, words: str, timed_out: bool = False) -> None:
        super().__init__(words)
        self.timed_out = timed_out


class MissingExtra(ImportError):
    """A package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)

    def __str__(self) -> str:
        package, extra = self.args
        return f"{package} is not installed: pip install 'emqsim[{extra}]'"

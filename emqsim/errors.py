"""What the machine refuses, and the errors that say so.

A refusal changes nothing. Every refusal of the queue is a `QueueError`; a bad
argument never reaches the queue and is a plain `ValueError` or `TypeError`.
What can go wrong between a client and a server comes after them.
"""

from __future__ import annotations


class QueueError(Exception):
    """A transition was refused; the queue is as it was before the call.

    `wire` is the server's error text word for word, and then also the text of
    the exception. It is `None` where the server answers with a number (complete,
    extend_lock, reprocess and the edits of a row that is missing).
    """

    wire: str | None

    def __init__(self, wire: str | None = None) -> None:
        super().__init__("job gone" if wire is None else wire)
        self.wire = wire


class WrongKind(QueueError):
    """A well-formed id of a namespace other than `JOB` (wire: `EMQKIND`)."""


class StaleToken(QueueError):
    """The fencing token is not the row's `attempts` (wire: `EMQSTALE`)."""


class JobGone(QueueError):
    """There is no row, or no `attempts` in it, to act on."""


class NotDead(QueueError):
    """Only a job in the morgue can be reprocessed (wire: `EMQSTATE`)."""


class NotPaused(QueueError):
    """A queue has to be paused before it is obliterated (wire: `EMQSTATE`)."""


class ActiveJobs(QueueError):
    """Jobs are leased, and obliterate was not forced (wire: `EMQSTATE`)."""


class JobLocked(QueueError):
    """Somebody outside holds the job's lock (wire: `EMQLOCK`)."""


class AtCeiling(QueueError):
    """As many jobs are leased as the queue allows (wire: `EMQRATE`); `is_maxed` answers True."""


class InvalidJobId(ValueError):
    """The text is not a branded id; refused before anything is sent or changed."""


# Between a client and a server.


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

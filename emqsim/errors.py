"""What the machine refuses, and the errors that say so.

A refusal changes nothing. Every refusal of the queue is a `QueueError`; a bad
argument never reaches the queue and is a plain `ValueError` or `TypeError`.
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

"""EchoMQ's machine in memory: a job queue of four sorted sets and a row a job, on a virtual clock.

`Queue` is the machine, `VirtualClock` its time; `emqsim.machine` holds the transition table.
`emqsim.server` has the same calls on a real server, `emqsim.check` compares the two.
"""

from emqsim.base import BaseQueue
from emqsim.clock import VirtualClock
from emqsim.consumer import Consumer, Crash
from emqsim.dialect import Dialect
from emqsim.errors import (
    ActiveJobs,
    InvalidJobId,
    JobGone,
    JobLocked,
    NotDead,
    NotPaused,
    QueueError,
    StaleToken,
    WrongKind,
)
from emqsim.protocol import JobQueue
from emqsim.queue import Queue
from emqsim.results import Claimed, Sweep, Verdict, Violation

__all__ = [
    "ActiveJobs",
    "BaseQueue",
    "Claimed",
    "Consumer",
    "Crash",
    "Dialect",
    "InvalidJobId",
    "JobGone",
    "JobLocked",
    "JobQueue",
    "NotDead",
    "NotPaused",
    "Queue",
    "QueueError",
    "StaleToken",
    "Sweep",
    "Verdict",
    "Violation",
    "VirtualClock",
    "WrongKind",
]

"""`JobQueue`, the type for application code."""

import inspect

from emqsim import JobQueue, Queue
from emqsim.base import BaseQueue
from emqsim.server import ServerQueue


def test_both_queues_meet_the_protocol_with_the_host_s_signatures():
    assert issubclass(Queue, BaseQueue)
    assert issubclass(ServerQueue, BaseQueue)
    assert isinstance(Queue("q"), JobQueue)
    methods = {name: method for name, method in vars(JobQueue).items() if inspect.isfunction(method)}
    public = {name for name in methods if not name.startswith("_")}
    assert {"enqueue", "claim", "complete", "retry", "get_job_state"} <= public
    for name in public:
        assert inspect.signature(methods[name]) == inspect.signature(getattr(BaseQueue, name)), name

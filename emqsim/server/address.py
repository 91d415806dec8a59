"""Servers by URL: what a URL may hold, a client for it, and its text without the password."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from emqsim.errors import MissingExtra
from emqsim.server.connection import LIBRARIES

EMBEDDED = "embedded"

PASSWORD = "EMQSIM_PASSWORD"
"""The variable of the environment that holds the password, so that it need not stand in a command."""

TIMEOUT_S = 5.0
"""How long an answer of a server that is not ours is waited for."""

SCHEMES = {"redis": "redis", "valkey": "redis", "rediss": "rediss", "valkeys": "rediss", "unix": "unix"}
"""The schemes of a URL, each as both client libraries know it; an `s` at the end is TLS."""

TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
"""Words of a URL's query for TLS: files of certificates and a key, `none` or `required`, `true` or `false`."""

_QUERY = ("db", *TLS_OPTIONS)
_SECRET = re.compile(r"(://[^/@\s:]*:)\S*@")


def without_password(text: str) -> str:
    """A text with every password of a URL in it blotted out."""
    return _SECRET.sub(r"\1***@", text)


def make_client(url: str, **settings: Any) -> Any:
    """A client for a URL, of the first client library that is installed.

    `redis://user:password@host:port/db`, with `rediss`, `valkey`, `valkeys` too, or `unix:///path?db=0`; the
    words of `TLS_OPTIONS` in the query. Raises `ValueError`, which never holds the password, and `MissingExtra`.
    """
    address = _checked(url)
    for name in LIBRARIES:
        if importlib.util.find_spec(name):
            library: Any = importlib.import_module(name)
            client = library.Valkey if name == "valkey" else library.Redis
            return client.from_url(address, **(_tls(url) | settings))
    raise MissingExtra("a client library (valkey or redis)", "check")


def _checked(url: str) -> str:
    """The URL as both libraries take it, without the query but for the database."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise ValueError(f"server: a URL begins with one of {', '.join(f'{name}://' for name in SCHEMES)}")
    if "@" in "".join(re.split(r"[/?#]", rest, maxsplit=1)[1:]) and scheme != "unix":
        raise ValueError("server: user and password of a URL need %-encoding of / ? # @ in them")
    parts = urlsplit(f"{SCHEMES[scheme]}://{rest}")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("server: the port of the URL is no port") from None
    if scheme != "unix" and not parts.hostname:
        raise ValueError("server: the URL names no host")
    if port == 0:
        raise ValueError("server: the port of the URL is no port")
    query = _query(url)
    database = query.get("db", parts.path.strip("/") if scheme != "unix" else "") or "0"
    if not re.fullmatch(r"\d{1,9}", database):
        raise ValueError(f"server: the database must be a number, not {database!r}")
    path = parts.path if scheme == "unix" else ""
    return f"{parts.scheme}://{parts.netloc}{path}?db={database}"


def _query(url: str) -> Mapping[str, str]:
    query = dict(parse_qsl(urlsplit(url).query))
    unknown = [name for name in query if name not in _QUERY]
    if unknown:
        raise ValueError(f"server: the URL's query takes {', '.join(_QUERY)}, not {', '.join(unknown)}")
    return query


def _tls(url: str) -> dict[str, Any]:
    """The client settings of the TLS words in a URL."""
    given = {name: unquote(value) for name, value in _query(url).items() if name in TLS_OPTIONS}
    if given and SCHEMES[url.partition("://")[0]] != "rediss":
        raise ValueError(f"server: {', '.join(given)} needs rediss:// or valkeys://")
    settings: dict[str, Any] = dict(given)
    if "ssl_check_hostname" in settings:
        settings["ssl_check_hostname"] = settings["ssl_check_hostname"] != "false"
    elif settings.get("ssl_cert_reqs") == "none":
        settings["ssl_check_hostname"] = False
    return settings

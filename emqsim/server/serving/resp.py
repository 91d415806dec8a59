"""The Redis protocol: what an answer can be, how it is written in RESP2 and RESP3, how commands are read.

A command answers with Python values:

    int               an integer                      Status("OK"), OK   a simple string
    bytes             a bulk string                   Error(line)        an error; usually raised
    None              a null                          NULL_ARRAY         RESP2's null of an array
    float             a double                        bool               RESP2: 1 or 0
    list, tuple       an array                        Map(flat list)     RESP2: that flat list
    Members(list)     a set; RESP2: an array          Verbatim(b"txt", …)  RESP2: a bulk string
    Push(list)        a push; RESP2: an array         BigNumber(b"12")   RESP2: a bulk string

`encode` writes any of them for the protocol that a connection speaks. Where an answer differs by more
than its type (ZRANGE WITHSCORES is flat in RESP2, pairs in RESP3), the command looks at `call.resp`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan
from typing import Any

Reply = Any
"""Any of the values above."""


class Status(str):
    """A simple string, on one line."""

    __slots__ = ()


class Error(Exception):
    """An error answer. `line` is all of it, its code first, without the dash: `ERR no such key`."""

    def __init__(self, line: str | bytes) -> None:
        self.line = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        super().__init__(self.line.decode("utf-8", "replace"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Error) and other.line == self.line

    def __hash__(self) -> int:
        return hash(self.line)


class Map(list[Any]):
    """A map as a flat list: key, value, key, value."""

    __slots__ = ()


class Members(list[Any]):
    """A set."""

    __slots__ = ()


class Push(list[Any]):
    """An out-of-band message; its first element says of which kind."""

    __slots__ = ()


class Verbatim:
    """Text with its format of three letters."""

    __slots__ = ("form", "text")

    def __init__(self, form: bytes, text: bytes) -> None:
        self.form, self.text = form, text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verbatim) and (self.form, self.text) == (other.form, other.text)

    __hash__ = None  # type: ignore[assignment]


class BigNumber(bytes):
    """An integer of any size, as its digits. Only a script that speaks RESP3 gets and gives one."""

    __slots__ = ()


class _NullArray:
    __slots__ = ()

    def __repr__(self) -> str:
        return "NULL_ARRAY"


NULL_ARRAY = _NullArray()
OK = Status("OK")
QUEUED = Status("QUEUED")
PONG = Status("PONG")

_COMMON = {OK: b"+OK\r\n", QUEUED: b"+QUEUED\r\n", PONG: b"+PONG\r\n"}


def encode(reply: Reply, resp: int) -> bytes:
    """An answer as bytes, in RESP2 or RESP3."""
    kind = reply.__class__
    if kind is bytes:
        return b"$%d\r\n%b\r\n" % (len(reply), reply)
    if kind is int:
        return b":%d\r\n" % reply
    if reply is OK:
        return b"+OK\r\n"
    parts: list[bytes] = []
    _write(reply, resp, parts)
    return b"".join(parts)


def _write(reply: Reply, resp: int, parts: list[bytes]) -> None:
    kind = reply.__class__
    if kind is bytes:
        parts.append(b"$%d\r\n%b\r\n" % (len(reply), reply))
    elif kind is int:
        parts.append(b":%d\r\n" % reply)
    elif reply is None:
        parts.append(b"$-1\r\n" if resp == 2 else b"_\r\n")
    elif kind is list or kind is tuple:
        parts.append(b"*%d\r\n" % len(reply))
        for each in reply:
            _write(each, resp, parts)
    elif kind is Status:
        parts.append(_COMMON.get(reply) or b"+%b\r\n" % reply.encode("latin-1"))
    elif kind is float:
        text = format_double(reply)
        parts.append(b",%b\r\n" % text if resp == 3 else b"$%d\r\n%b\r\n" % (len(text), text))
    elif kind is bool:
        parts.append(
            (b"#t\r\n" if reply else b"#f\r\n") if resp == 3 else (b":1\r\n" if reply else b":0\r\n")
        )
    elif reply is NULL_ARRAY:
        parts.append(b"*-1\r\n" if resp == 2 else b"_\r\n")
    elif isinstance(reply, Error):
        parts.append(b"-%b\r\n" % reply.line)
    elif kind is Map:
        parts.append(b"*%d\r\n" % len(reply) if resp == 2 else b"%%%d\r\n" % (len(reply) // 2))
        for each in reply:
            _write(each, resp, parts)
    elif kind is Members or kind is Push:
        mark = b"*" if resp == 2 else b"~" if kind is Members else b">"
        parts.append(b"%b%d\r\n" % (mark, len(reply)))
        for each in reply:
            _write(each, resp, parts)
    elif kind is Verbatim:
        if resp == 3:
            parts.append(b"=%d\r\n%b:%b\r\n" % (len(reply.text) + 4, reply.form, reply.text))
        else:
            parts.append(b"$%d\r\n%b\r\n" % (len(reply.text), reply.text))
    elif kind is BigNumber:
        parts.append(b"(%b\r\n" % reply if resp == 3 else b"$%d\r\n%b\r\n" % (len(reply), reply))
    else:
        raise TypeError(f"no answer: {reply!r}")


def format_double(value: float) -> bytes:
    """A double as the server writes it, in both protocols: the shortest digits that read back the same."""
    if isnan(value):
        return b"nan"
    if value in (inf, -inf):
        return b"inf" if value > 0 else b"-inf"
    if value == int(value) and abs(value) < 1e17:
        return b"-0" if value == 0 and str(value)[0] == "-" else b"%d" % int(value)
    digits, _, exponent = repr(value).partition("e")
    return f"{digits}e{int(exponent):+d}".encode() if exponent else digits.encode()


# Reading commands.

MAX_INLINE = 64 * 1024
"""The longest inline command, and the longest line of a length."""


class ProtocolError(Exception):
    """What a client sent is no command; it is told so and its connection closed."""


class Reader:
    """Takes bytes as they come and gives commands; keeps half of one until the rest comes.

    `max_bulk` bytes a word, `max_words` words a command. An `Error` reply, then the end of the connection,
    is what a server gives for anything else: `ProtocolError`, whose text goes behind `ERR Protocol error: `.
    """

    def __init__(self, max_bulk: int = 512 * 1024 * 1024, max_words: int = 1024 * 1024) -> None:
        self.max_bulk, self.max_words = max_bulk, max_words
        self.authenticated = True
        """Until a client gave the password it may send few and short words only."""
        self._buffer = bytearray()
        self._at = 0
        self._words: list[bytes] = []
        self._missing = 0
        self._bulk = -1
        self._searched = 0

    def feed(self, came: bytes) -> None:
        """Bytes from the connection."""
        self._buffer += came

    @property
    def held(self) -> int:
        """How many bytes wait for the rest of their command."""
        return len(self._buffer) - self._at + sum(map(len, self._words))

    def __iter__(self) -> Iterator[list[bytes]]:
        """The commands that are complete; raises `ProtocolError`."""
        while True:
            command = self._next()
            if command is None:
                del self._buffer[: self._at]
                self._searched = max(0, self._searched - self._at)
                self._at = 0
                return
            if command:
                yield command

    def _line(self, too_long: str) -> bytes | None:
        """The line at hand, without its end."""
        end = self._buffer.find(
            b"\n" if too_long == "too big inline request" else b"\r", max(self._at, self._searched)
        )
        if end < 0:
            if len(self._buffer) - self._at > MAX_INLINE:
                raise ProtocolError(too_long)
            self._searched = len(self._buffer)
            return None
        self._searched = 0
        return bytes(self._buffer[self._at : end])

    def _next(self) -> list[bytes] | None:
        if not self._missing:
            if self._at >= len(self._buffer):
                return None
            if self._buffer[self._at] != 42:
                return self._inline()
            line = self._line("too big mbulk count string")
            if line is None or self._at + len(line) + 2 > len(self._buffer):
                return None
            count = _length(line[1:])
            if count is None or count > self.max_words:
                raise ProtocolError("invalid multibulk length")
            if count > 10 and not self.authenticated:
                raise ProtocolError("unauthenticated multibulk length")
            self._at += len(line) + 2
            if count <= 0:
                return []
            self._missing, self._words = count, []
        return self._multibulk()

    def _multibulk(self) -> list[bytes] | None:
        buffer, words = self._buffer, self._words
        while self._missing:
            if self._bulk < 0:
                if self._at >= len(buffer):
                    return None
                line = self._line("too big bulk count string")
                if line is None or self._at + len(line) + 2 > len(buffer):
                    return None
                if line[:1] != b"$":
                    raise ProtocolError(f"expected '$', got '{chr(buffer[self._at])}'")
                size = _length(line[1:])
                if size is None or size < 0 or size > self.max_bulk:
                    raise ProtocolError("invalid bulk length")
                if size > 16384 and not self.authenticated:
                    raise ProtocolError("unauthenticated bulk length")
                self._at += len(line) + 2
                self._bulk = size
            end = self._at + self._bulk
            if len(buffer) < end + 2:
                return None
            words.append(bytes(buffer[self._at : end]))
            self._at = end + 2
            self._bulk = -1
            self._missing -= 1
        self._words = []
        return words

    def _inline(self) -> list[bytes] | None:
        line = self._line("too big inline request")
        if line is None:
            return None
        self._at += len(line) + 1
        words = split_inline(line.removesuffix(b"\r"))
        if words is None:
            raise ProtocolError("unbalanced quotes in request")
        return words


def _length(text: bytes) -> int | None:
    """A whole number as the server reads it: no sign but a minus, no leading zeros, no spaces."""
    digits = text[1:] if text[:1] == b"-" else text
    if not digits.isdigit() or (digits[:1] == b"0" and text != b"0") or len(digits) > 19:
        return None
    return int(text)


_BACKSLASHED = {110: 10, 114: 13, 116: 9, 98: 8, 97: 7}
_SPACE = b" \n\r\t\v\f\0"


def split_inline(line: bytes) -> list[bytes] | None:
    """The words of an inline command, quotes and backslashes as in the server; `None` where quotes are open."""
    words: list[bytes] = []
    at, end = 0, len(line)
    while True:
        while at < end and line[at] in _SPACE:
            at += 1
        if at >= end:
            return words
        word = bytearray()
        quote = 0
        while True:
            if at >= end:
                if quote:
                    return None
                break
            char = line[at]
            if quote:
                if (
                    char == 92
                    and quote == 34
                    and line[at + 1 : at + 2] == b"x"
                    and _hex(line[at + 2 : at + 4])
                ):
                    word.append(int(line[at + 2 : at + 4], 16))
                    at += 3
                elif char == 92 and quote == 34 and at + 1 < end:
                    at += 1
                    word.append(_BACKSLASHED.get(line[at], line[at]))
                elif char == 92 and quote == 39 and line[at + 1 : at + 2] == b"'":
                    at += 1
                    word.append(39)
                elif char == quote:
                    if at + 1 < end and line[at + 1] not in _SPACE:
                        return None
                    at += 1
                    break
                else:
                    word.append(char)
            elif char in _SPACE:
                break
            elif char in (34, 39):
                quote = char
            else:
                word.append(char)
            at += 1
        words.append(bytes(word))


def _hex(digits: bytes) -> bool:
    return len(digits) == 2 and all(each in b"0123456789abcdefABCDEF" for each in digits)

"""Scripts in Elixir sources: `Script.new(:name, …)` with a heredoc or another string, read as Elixir reads it.

Nothing of Elixir is run, so a source has to stand there as one literal: an interpolation, a variable or two
strings put together are refused. What is in comments, in documentation and in other strings is passed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ASIDE = r"(?:\s|\#[^\n]*\n)*"

_TOKEN = re.compile(
    rf"""
    (?P<comment> \#[^\n]* )
  | (?P<char> (?<!\w)\?(?:\\.|.) )
  | (?P<script> (?<!\w)Script\.new {_ASIDE} \(? {_ASIDE} :(?P<name>\w+[?!]?|"\w+") {_ASIDE} , {_ASIDE} )
  | (?P<literal> (?:~(?P<sigil>[a-z]|[A-Z][A-Z0-9]*))? (?P<open>\"{{3}}|'{{3}}|["']) )
  | (?P<other> ~(?P<letter>[a-z]|[A-Z][A-Z0-9]*)(?P<bracket>[/|(\[{{<]) )
  | (?P<brace> [{{}}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_GOES_ON = re.compile(r"\s*(<>|\|>|\+\+)")

_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|\r\n|.)", re.DOTALL)
_ESCAPES = {
    b"0": b"\x00",
    b"a": b"\a",
    b"b": b"\b",
    b"d": b"\x7f",
    b"e": b"\x1b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"s": b" ",
    b"t": b"\t",
    b"v": b"\v",
    b"\n": b"",
    b"\r\n": b"",
}
"""What the character after a backslash stands for; any other stands for itself."""


class Found(NamedTuple):
    """A script and the line on which it begins."""

    source: str
    line: int


class _Literal(NamedTuple):
    body: str
    indent: int
    """Columns in front of the closing quotes of a heredoc."""
    end: int
    interpolation: int | None
    """Where the first `#{` is, if there is one."""


def scripts_in(text: str, path: str = "source") -> dict[str, Found]:
    """The scripts of an Elixir source by name; bytes that are not UTF-8 are surrogates, as in the answer.

    Raises `ValueError`, with the path and the line, for a script that cannot be read without running Elixir,
    a name that stands there twice, and a string that does not end.
    """
    return _Reader(text, path).scripts()


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._found: dict[str, Found] = {}

    def scripts(self) -> dict[str, Found]:
        self._code(0, nested=False)
        return self._found

    def _wrong(self, at: int, words: str) -> ValueError:
        return ValueError(f"{self._path}:{self._line(at)}: {words}")

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1

    def _code(self, at: int, nested: bool) -> int:
        """Read code to its end, or `nested`, to the brace that closes an interpolation; where that is."""
        depth = 0
        while token := _TOKEN.search(self._text, at):
            at = token.end()
            if token["script"]:
                at = self._script(token)
            elif token["literal"]:
                at = self._literal(token).end
            elif token["other"]:
                at = self._quoted(
                    token.end(), _CLOSING.get(token["bracket"], token["bracket"]), token["letter"]
                ).end
            elif token["brace"] == "{":
                depth += 1
            elif token["brace"] == "}":
                if nested and depth == 0:
                    return at
                depth -= 1
        if nested:
            raise self._wrong(at, "an interpolation does not end")
        return at

    def _script(self, token: re.Match[str]) -> int:
        """Take one script; where the code goes on."""
        name = token["name"].strip('"')
        called = f"Script.new(:{name}, …)"
        opening = _TOKEN.match(self._text, token.end())
        if opening is None or not opening["literal"]:
            raise self._wrong(
                token.start(), f"{called}: the source is not a heredoc or string that stands here"
            )
        literal = self._literal(opening)
        if literal.interpolation is not None:
            raise self._wrong(
                literal.interpolation,
                f"{called}: an interpolation #{{…}} cannot be read without running Elixir",
            )
        if goes_on := _GOES_ON.match(self._text, literal.end):
            raise self._wrong(
                goes_on.start(1), f"{called}: {goes_on[1]} cannot be read without running Elixir"
            )
        if name in self._found:
            raise self._wrong(token.start(), f"{called} stands on line {self._found[name].line} already")
        try:
            source = _read(literal, raw=_is_raw(opening["sigil"]), quotes=opening["open"])
        except ValueError as wrong:
            raise self._wrong(opening.start(), f"{called}: {wrong}") from None
        self._found[name] = Found(source, self._line(token.start()))
        return literal.end

    def _literal(self, opening: re.Match[str]) -> _Literal:
        """The string, charlist, heredoc or sigil that begins here."""
        quotes, sigil = opening["open"], opening["sigil"]
        if len(quotes) == 1:
            return self._quoted(opening.end(), quotes, sigil)
        header = re.compile(r"[ \t]*\r?\n").match(self._text, opening.end())
        if header is None:
            raise self._wrong(opening.start(), f"a heredoc begins on the line after {quotes}")
        return self._quoted(header.end(), quotes, sigil)

    def _quoted(self, start: int, closing: str, sigil: str | None) -> _Literal:
        """Text from `start` up to the closing quotes, which end a heredoc only at the beginning of a line."""
        before = r"(?:(?<=\n)|\A)(?P<indent>[ \t]*)" if len(closing) == 3 else ""
        stop = re.compile(
            rf"\\(?:\r\n|.)|(?P<interpolation>\#\{{)|{before}(?P<closing>{re.escape(closing)})", re.DOTALL
        )
        at, interpolation = start, None
        while found := stop.search(self._text, at):
            at = found.end()
            if found["closing"]:
                indent = len(found["indent"]) if before else 0
                return _Literal(self._text[start : found.start()], indent, at, interpolation)
            if found["interpolation"] and not _is_raw(sigil):
                interpolation = found.start() if interpolation is None else interpolation
                at = self._code(at, nested=True)
        raise self._wrong(start, f"no {closing} ends what begins here")


def _is_raw(sigil: str | None) -> bool:
    """Whether a sigil (upper case) takes its text as it stands."""
    return sigil is not None and sigil[0].isupper()


def _read(literal: _Literal, raw: bool, quotes: str) -> str:
    """What a literal stands for: first the indentation goes, then the escapes."""
    body = re.sub(rf"^[ \t]{{0,{literal.indent}}}", "", literal.body, flags=re.MULTILINE)
    if raw:
        return body.replace("\\" + quotes, quotes)
    return _ESCAPE.sub(_escaped, body.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _escaped(found: re.Match[bytes]) -> bytes:
    word = found[1]
    if len(word) == 3 and word[:1] == b"x":
        return bytes([int(word[1:], 16)])
    if len(word) > 1 and word[:1] == b"u":
        return chr(int(word[1:].strip(b"{}"), 16)).encode()
    if word in (b"x", b"u"):
        raise ValueError(f"no Elixir escape: \\{word.decode()} takes hexadecimal digits")
    return _ESCAPES.get(word, word)

"""As much of Lua's syntax as the mutations need: tokens, calls with their arguments, conditions, statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)"
    r"|(?P<string>'[^'\n]*')"
    r"|(?P<number>\d+)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<op>==|~=|<=|>=|\.\.|[-+*/#<>=(){}\[\],.:])"
)


class Token(NamedTuple):
    """A piece of the source. `start` and `end` are offsets into it, as in all that follows."""

    kind: str
    text: str
    start: int
    end: int


class Span(NamedTuple):
    """A part of the source."""

    start: int
    end: int


class Call(NamedTuple):
    """A `redis.call(…)` with its command and the spans of all its arguments, the command among them."""

    command: str
    args: tuple[Span, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A script and its parts."""

    name: str
    text: str

    def of(self, span: Span | Token | Call) -> str:
        """The text of a part."""
        return self.text[span.start : span.end]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def edit(self, *edits: tuple[Span | Token | Call, str]) -> str:
        """The whole source with other text in the place of some parts."""
        text = self.text
        for span, new in sorted(edits, key=lambda edit: -edit[0].start):
            text = text[: span.start] + new + text[span.end :]
        return text

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens but comments."""
        found = []
        for match in _TOKEN.finditer(self.text):
            assert match.lastgroup is not None
            if match.lastgroup != "comment":
                found.append(Token(match.lastgroup, match[0], match.start(), match.end()))
        return found

    @cached_property
    def calls(self) -> list[Call]:
        """Every `redis.call`."""
        texts = [token.text for token in self.tokens]
        found = []
        for index in range(len(texts) - 3):
            if texts[index : index + 4] == ["redis", ".", "call", "("]:
                args, last = self._arguments(index + 3)
                command = self.of(args[0]).strip("'")
                found.append(Call(command, tuple(args), self.tokens[index].start, self.tokens[last].end))
        return found

    def _arguments(self, opening: int) -> tuple[list[Span], int]:
        """The arguments behind an opening bracket, and the index of the closing one."""
        depth, start, args = 0, opening + 1, []
        for index in range(opening, len(self.tokens)):
            text = self.tokens[index].text
            depth += (text in ("(", "{", "[")) - (text in (")", "}", "]"))
            if (depth == 1 and text == ",") or depth == 0:
                if index > start:
                    args.append(Span(self.tokens[start].start, self.tokens[index - 1].end))
                start = index + 1
            if depth == 0:
                return args, index
        raise ValueError(f"{self.name}: a bracket is not closed")

    @cached_property
    def tables(self) -> list[list[Span]]:
        """The entries of each `{…}`."""
        openings = [index for index, token in enumerate(self.tokens) if token.text == "{"]
        return [entries for entries, _ in map(self._arguments, openings) if entries]

    @cached_property
    def conditions(self) -> list[Span]:
        """What stands between `if` and `then`, `while` and `do`, and behind `until`."""
        ends = {"if": r"\bthen\b", "elseif": r"\bthen\b", "while": r"\bdo\b", "until": r"$"}
        found = []
        for token in self.tokens:
            if token.text in ends:
                end = re.compile(ends[token.text], re.M).search(self.text, token.end)
                assert end is not None
                found.append(self._trimmed(token.end, end.start()))
        return found

    @cached_property
    def returns(self) -> list[Span]:
        """What each `return` gives back."""
        found = []
        for token in self.tokens:
            if token.text == "return":
                found.append(self._trimmed(token.end, self.text.index("\n", token.end)))
        return found

    def statements(self, pattern: str) -> Iterator[Span]:
        """Whole lines, each one statement, that begin as the pattern says."""
        for match in re.finditer(rf"^[ ]*(?:{pattern})[^\n]*\n", self.text, re.M):
            yield Span(match.start(), match.end())

    def _trimmed(self, start: int, end: int) -> Span:
        text = self.text[start:end]
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

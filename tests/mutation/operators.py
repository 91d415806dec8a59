"""The mutations: each takes a script and gives every faulty one that it can make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from emqsim.dialect import Dialect
from emqsim.machine import TRANSITIONS
from emqsim.scripts.bundle import bundled_scripts

from .lua import Call, Source, Span, Token

Edit = tuple[int, str, str]
"""The offset of a change, what it is in words, and the whole source after it."""

Operator = Callable[[Source], Iterator[Edit]]
OPERATORS: dict[str, Operator] = {}


class Mutant(NamedTuple):
    """A faulty script."""

    script: str
    transition: str
    dialect: Dialect
    operator: str
    line: int
    column: int
    detail: str
    source: str

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.script}:{self.line}:{self.column} {self.operator}: {self.detail}"


def mutants(*scripts: str) -> list[Mutant]:
    """Every mutant of some scripts, or of all; two that read the same are one."""
    found: dict[tuple[str, str], Mutant] = {}
    for script, text in bundled_scripts().items():
        if scripts and script not in scripts:
            continue
        source = Source(script, text)
        transition, dialect = _used_as(script)
        for operator, make in OPERATORS.items():
            for offset, detail, mutated in make(source):
                if mutated != text:
                    where = source.position(offset)
                    mutant = Mutant(script, transition, dialect, operator, *where, detail, mutated)
                    found.setdefault((script, mutated), mutant)
    return list(found.values())


def _used_as(script: str) -> tuple[str, Dialect]:
    """The transition of a script, and a dialect that runs it."""
    for row in TRANSITIONS.values():
        for dialect in (Dialect.WIRE4, Dialect.WIRE3):
            if row.script(dialect) == script:
                return row.name, dialect
    raise KeyError(script)


def _operator(make: Operator) -> Operator:
    OPERATORS[make.__name__.replace("_", " ").strip()] = make
    return make


def _put(source: Source, span: Span | Token | Call, new: str) -> Edit:
    return span.start, f"{_short(source.of(span))} -> {_short(new)}", source.edit((span, new))


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip() or "nothing"


# Statements and guards.

NOW = "(redis.call('TIME')[1] * 1000 + math.floor(redis.call('TIME')[2] / 1000))"

READ_TWINS = {
    "ZREM": "(redis.call('ZSCORE', {1}, {2}) and 1 or 0)",
    "HINCRBY": "(tonumber(redis.call('HGET', {1}, {2}) or 0) + {3})",
    "ZPOPMIN": "redis.call('ZRANGE', {1}, 0, 0)",
    "RPUSH": "(redis.call('LLEN', {1}) + 1)",
}
"""For commands that write and answer: what answers the same and writes nothing."""

WRITES = {*READ_TWINS, "DEL", "HDEL", "HSET", "LTRIM", "PUBLISH", "ZADD"}


@_operator
def _drop_a_write(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        if call.command not in WRITES:
            continue
        if re.search(r"(^|\n) *$", source.text[: call.start]):
            yield _put(source, call, "")
        else:
            words = [source.of(arg) for arg in call.args]
            yield _put(source, call, READ_TWINS[call.command].format(*words))


@_operator
def _drop_an_assignment(source: Source) -> Iterator[Edit]:
    for statement in source.statements(r"(?!local)[\w\[\]# +]+ = "):
        yield _put(source, statement, "\n")


@_operator
def _drop_a_guard(source: Source) -> Iterator[Edit]:
    for condition in source.conditions:
        yield _put(source, condition, "false")
        yield _put(source, condition, "true")
        for word in (" and ", " or "):
            text = source.of(condition)
            if word in text:
                left, right = text.split(word, 1)
                yield _put(source, condition, left)
                yield _put(source, condition, right)
                yield _put(source, condition, left + (" or " if word == " and " else " and ") + right)
        if source.of(condition).startswith("not "):
            yield _put(source, condition, source.of(condition)[4:])


# KEYS and ARGV.


@_operator
def _swap_keys(source: Source) -> Iterator[Edit]:
    yield from _swaps(source, "KEYS")


@_operator
def _swap_argv(source: Source) -> Iterator[Edit]:
    yield from _swaps(source, "ARGV")


@_operator
def _another_key(source: Source) -> Iterator[Edit]:
    yield from _others(source, "KEYS")


@_operator
def _another_argument(source: Source) -> Iterator[Edit]:
    yield from _others(source, "ARGV")


def _uses(source: Source, table: str) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = {}
    for match in re.finditer(rf"\b{table}\[(\d+)\]", source.text):
        if not _in_comment(source, match.start()):
            found.setdefault(int(match[1]), []).append(Span(match.start(), match.end()))
    return found


def _in_comment(source: Source, offset: int) -> bool:
    start = source.text.rfind("\n", 0, offset) + 1
    return "--" in source.text[start:offset]


def _swaps(source: Source, table: str) -> Iterator[Edit]:
    """Each pair exchanged, in the whole script."""
    uses = _uses(source, table)
    for one, other in combinations(sorted(uses), 2):
        edits = [(span, f"{table}[{other}]") for span in uses[one]]
        edits += [(span, f"{table}[{one}]") for span in uses[other]]
        yield uses[one][0].start, f"{table}[{one}] <-> {table}[{other}]", source.edit(*edits)


def _others(source: Source, table: str) -> Iterator[Edit]:
    """Each use alone, replaced by each other of them."""
    uses = _uses(source, table)
    for index, spans in uses.items():
        for span in spans:
            for other in uses:
                if other != index:
                    yield _put(source, span, f"{table}[{other}]")


# Comparisons, numbers, arithmetic.

_NEIGHBOURS = {
    "==": ("~=", ">=", "<="),
    "~=": ("==",),
    ">": (">=", "<", "~="),
    ">=": (">", "<", "=="),
    "<": ("<=", ">", "~="),
    "<=": ("<", ">", "=="),
}


@_operator
def _comparison(source: Source) -> Iterator[Edit]:
    kinds = [token.kind for token in source.tokens]
    for index, token in enumerate(source.tokens):
        of_numbers = "number" in kinds[index - 1 : index + 2]
        for other in _NEIGHBOURS.get(token.text, ()):
            if other in ("==", "~=") or token.text not in ("==", "~=") or of_numbers:
                yield _put(source, token, other)


@_operator
def _number(source: Source) -> Iterator[Edit]:
    for index, token in enumerate(source.tokens):
        if token.kind == "number" and source.tokens[index - 2].text not in ("KEYS", "ARGV"):
            for off in (1, -1, 10, -10):
                yield _put(source, token, str(int(token.text) + off).replace("-", " -"))
    for token in source.tokens:
        if token.kind == "string" and re.fullmatch(r"'\d+'", token.text):
            for off in (1, -1, 10, -10):
                yield _put(source, token, f"'{int(token.text.strip(chr(39))) + off}'")


@_operator
def _arithmetic(source: Source) -> Iterator[Edit]:
    for token in source.tokens:
        if token.text in ("+", "*", "/"):
            yield _put(source, token, {"+": "-", "*": "/", "/": "*"}[token.text])
    for index, token in enumerate(source.tokens):
        if token.text == "-":
            binary = (
                source.tokens[index - 1].kind in ("name", "number")
                and source.tokens[index - 1].text != "return"
            )
            yield _put(source, token, "+" if binary else "")
    for match in re.finditer(r"math\.(\w+)", source.text):
        span = Span(match.start(), match.end())
        for other in {"floor": ("math.ceil", ""), "min": ("math.max",)}[match[1]]:
            yield _put(source, span, other)
    for match in re.finditer(r"t\[1\] \* 1000 \+ math\.floor\(t\[2\] / 1000\)", source.text):
        span = Span(match.start(), match.end())
        for other in ("t[1] * 1000", "t[1]", "math.floor(t[2] / 1000)", "t[1] * 1000000 + t[2]"):
            yield _put(source, span, other)


# Names.

FIELDS = (
    "state",
    "attempts",
    "payload",
    "last_error",
    "progress",
    "stalled",
    "paused",
    "concurrency",
    "count",
)
STATES = ("pending", "active", "scheduled", "dead", "stalled")
PARTS = ("pending", "active", "schedule", "dead", "meta", "metrics:completed", "metrics:failed", "events")
TAILS = (":logs", ":lock", "")


@_operator
def _name(source: Source) -> Iterator[Edit]:
    for token in source.tokens:
        if token.kind == "string":
            text = token.text[1:-1]
            others = {
                other: None
                for words in (FIELDS, STATES, PARTS, TAILS)
                if text in words and text
                for other in words
                if other != text
            }
            for other in others:
                yield _put(source, token, f"'{other}'")


@_operator
def _text(source: Source) -> Iterator[Edit]:
    """Strings that are no names of the machine's: made longer, and empty."""
    for token in source.tokens:
        text = token.text[1:-1]
        if token.kind == "string" and text not in (*FIELDS, *STATES, *PARTS, *TAILS) and not text.isupper():
            yield _put(source, token, f"'{text}x'")
            yield _put(source, token, "''")
        if token.text == "'JOB'":
            yield _put(source, token, "'JO'")
            yield _put(source, token, "'job'")
            yield _put(source, token, "'ORD'")


@_operator
def _field_of_an_event(source: Source) -> Iterator[Edit]:
    for entries in source.tables:
        for entry in entries:
            named = re.match(r"(\w+) = ", source.of(entry))
            if named:
                yield _put(source, Span(entry.start, entry.start + len(named[1])), "other")
                yield _put(source, entry, f"{named[1]} = ''")
                yield _put(source, entry, "")


# Commands and their arguments.


@_operator
def _score(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        if call.command == "ZADD":
            offsets = [f"tonumber({match})" for match in re.findall(r"tonumber\((ARGV\[\d+\])", source.text)]
            for other in (NOW, "0", "1", *offsets, *(f"{NOW} + {offset}" for offset in offsets)):
                yield _put(source, call.args[2], other)


@_operator
def _zadd(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        if call.command == "ZADD":
            for flag in ("NX", "XX", "GT", "LT", "INCR"):
                key = source.of(call.args[1])
                yield _put(source, call.args[1], f"{key}, '{flag}'")


@_operator
def _limit(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        words = [source.of(arg) for arg in call.args]
        if "'LIMIT'" in words:
            at = words.index("'LIMIT'")
            yield _put(source, Span(call.args[at - 1].end, call.args[at + 2].end), "")
            for other in ("-1", "1", "99", "1000"):
                yield _put(source, call.args[at + 2], other)


@_operator
def _range(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        if call.command == "ZRANGEBYSCORE":
            low, high = call.args[2], call.args[3]
            for other in ("0", "'(0'", "1", source.of(high)):
                yield _put(source, low, other)
            now = source.of(high)
            for other in (f"'(' .. {now}", f"{now} + 1", f"{now} - 1", "'+inf'", f"'(' .. ({now} + 1)"):
                yield _put(source, high, other)


SIBLINGS = {
    "ZPOPMIN": ("ZPOPMAX",),
    "ZRANGE": ("ZREVRANGE",),
    "RPUSH": ("LPUSH",),
    "HSET": ("HSETNX",),
    "EXISTS": ("DEL",),
    "HGET": ("HEXISTS",),
    "HEXISTS": ("HDEL",),
    "ZCARD": ("ZCOUNT",),
}


@_operator
def _command(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        for other in SIBLINGS.get(call.command, ()):
            if other == "HSETNX" and len(call.args) > 4:
                continue
            more = {"ZCOUNT": ", '-inf', 0"}.get(other, "")
            new = f"redis.call('{other}'{''.join(', ' + source.of(arg) for arg in call.args[1:])}{more})"
            yield _put(source, call, new)


@_operator
def _drop_an_argument(source: Source) -> Iterator[Edit]:
    for call in source.calls:
        if call.command == "HSET" and len(call.args) > 4:
            for start in range(2, len(call.args), 2):
                yield _put(source, Span(call.args[start - 1].end, call.args[start + 1].end), "")
        if call.command == "DEL" and len(call.args) > 2:
            for dropped in range(1, len(call.args)):
                kept = [source.of(arg) for index, arg in enumerate(call.args) if index not in (0, dropped)]
                yield _put(source, call, f"redis.call('DEL', {', '.join(kept)})")


@_operator
def _drop_an_entry(source: Source) -> Iterator[Edit]:
    """From the lists of names that a script goes through."""
    for entries in source.tables:
        if len(entries) > 2 and all(source.of(entry).startswith("'") for entry in entries):
            for entry in entries:
                yield _put(source, entry, "'nothing'")
            for one, other in pairwise(entries):
                edits = ((one, source.of(other)), (other, source.of(one)))
                yield one.start, f"{source.of(one)} <-> {source.of(other)}", source.edit(*edits)


# Replies.

ERRORS = tuple(
    dict.fromkeys(refusal.wire for row in TRANSITIONS.values() for refusal in row.refusals if refusal.wire)
)


@_operator
def _reply(source: Source) -> Iterator[Edit]:
    for span in source.returns:
        for other in _other_replies(source.of(span)):
            yield _put(source, span, other)


def _other_replies(reply: str) -> Sequence[str]:
    if re.fullmatch(r"-?\d+", reply):
        return [other for other in ("0", "1", "-1", "2", "nil", "'OK'", "{}") if other != reply]
    if reply.startswith("redis.error_reply"):
        texts = [text for text in ERRORS if f"'{text}'" not in reply]
        return [*(f"redis.error_reply('{text}')" for text in texts), "0", "1", "-1", "nil", reply.lower()]
    if reply.startswith("'"):
        return [other for other in ("'scheduled'", "'dead'", "'pending'", "1", "nil") if other != reply]
    if reply == "{}":
        return ["nil", "0", "{false}", "{''}"]
    if reply.startswith("{"):
        parts = [part.strip() for part in _split(reply[1:-1])]
        blanked = [[*parts[:i], "false", *parts[i + 1 :]] for i in range(len(parts))]
        dropped = [[*parts[:i], *parts[i + 1 :]] for i in range(len(parts))]
        swapped = [[*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]] for i in range(len(parts) - 1)]
        twice = [[*parts, parts[-1]]]
        return ["{" + ", ".join(each) + "}" for each in (*blanked, *dropped, *swapped, *twice)] + ["nil"]
    if reply.startswith("math.min("):
        return [f"{reply} + 1", "keep", "lines", "0"]
    return [f"{reply} + 1", f"{reply} - 1", "1", "0", "nil"] if reply[0] == "#" else ["0", "1", "nil", "{}"]


def _split(text: str) -> list[str]:
    """At the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


# The clock.


@_operator
def _time_twice(source: Source) -> Iterator[Edit]:
    for match in re.finditer(r"local t = redis\.call\('TIME'\)", source.text):
        end = Span(match.end(), match.end())
        again = " t = redis.call('TIME')"
        yield match.start(), "TIME read twice, the second counts", source.edit((end, again))
        mixed = " t[2] = redis.call('TIME')[2]"
        yield match.start(), "seconds of one TIME, microseconds of another", source.edit((end, mixed))
        yield match.start(), "TIME of a local table", source.edit((Span(*match.span()), "local t = {0, 0}"))


# Fences.

_FENCE = re.compile(r"(attempts|redis\.call\('HGET', [^()]*, 'attempts'\)) (~=|==) (ARGV\[2\]|token\b)")

WEAKER = {
    **{f"up to token {n}": f"({{0}} == {{2}} or tonumber({{0}} or 0) > {n})" for n in (2, 4, 9)},
    "first digit": "(string.sub({0} or '', 1, 1) == string.sub({2}, 1, 1))",
    "last digit": "(string.sub({0} or '', -1) == string.sub({2}, -1))",
    "length": "(#({0} or '') == #{2})",
    "no newer": "(tonumber({0} or 0) >= tonumber({2}))",
    "no older": "(tonumber({0} or 0) <= tonumber({2}))",
}
"""What holds where two tokens are equal, and where they should not be taken for it."""


@_operator
def _fence(source: Source) -> Iterator[Edit]:
    for found in _FENCE.finditer(source.text):
        for detail, holds in WEAKER.items():
            new = ("not " if found[2] == "~=" else "") + holds.format(*found.groups())
            yield found.start(), detail, source.text[: found.start()] + new + source.text[found.end() :]

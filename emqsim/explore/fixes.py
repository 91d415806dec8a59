"""The changes of one line each that keep every client from breaking an invariant.

Each asks, beside the token, whether the id is in active: whoever lost the lease, or has settled already, is
answered as if the job were gone. The model has the same changes as `Rules.need_lease`; no dialect has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from emqsim import guards
from emqsim.dialect import RULES, Dialect, Rules
from emqsim.scripts.bundle import bundled_scripts

_REMOVES = "if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then"
_HELD = "if redis.call('HGET', ARGV[1] .. 'job:' .. id, 'attempts') == token"

FIXES: dict[str, tuple[str, str]] = {
    "extend_lock": (
        "local t = redis.call('TIME')",
        "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return -1 end\nlocal t = redis.call('TIME')",
    ),
    "extend_locks": (f"{_HELD} then", f"{_HELD} and redis.call('ZSCORE', KEYS[1], id) then"),
    "complete": (_REMOVES, f"if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end\n{_REMOVES}"),
    "retry": (
        _REMOVES,
        "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return redis.error_reply('EMQSTALE job gone') end\n"
        + _REMOVES,
    ),
    "delay": (
        "redis.call('ZREM', KEYS[2], ARGV[1])",
        "if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return redis.error_reply('EMQSTALE job gone') end\n"
        "redis.call('ZREM', KEYS[2], ARGV[1])",
    ),
}
"""For each script: the line that is there, and what stands there with the fix: a line more, or a longer one."""


def fixed_scripts(names: Iterable[str] = tuple(FIXES)) -> Mapping[str, str]:
    """Copies of bundled scripts with the fix, by name; all five unless told which."""
    return {name: bundled_scripts()[name].replace(*FIXES[name]) for name in _checked(names)}


def fixed_rules(dialect: Dialect | str = Dialect.WIRE4, names: Iterable[str] = tuple(FIXES)) -> Rules:
    """The rules of a dialect with the same fixes."""
    guards.choice(dialect, "dialect", tuple(Dialect))
    return replace(RULES[Dialect(dialect)], need_lease=frozenset(_checked(names)))


def _checked(names: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(names)
    for name in checked:
        guards.choice(name, "names", tuple(FIXES))
    return checked

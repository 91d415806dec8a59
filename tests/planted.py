"""Faults to plant in the bundled scripts, each a text and what is put in its place."""

from emqsim.scripts.bundle import bundled_scripts

TOKEN = "local token = redis.call('HINCRBY', row, 'attempts', 1)"

PLANTED = {
    "claim pops the newest": ("claim2", "ZPOPMIN", "ZPOPMAX"),
    "claim forgets the token": (
        "claim2",
        TOKEN,
        "local token = (redis.call('HGET', row, 'attempts') or 0) + 1",
    ),
    "the lease is the lease instead of now + lease": (
        "claim2",
        "now + tonumber(ARGV[2])",
        "tonumber(ARGV[2])",
    ),
    "complete does not compare the token": ("complete", "if attempts ~= ARGV[2]", "if false"),
    "complete forgets pending": ("complete", "  redis.call('ZREM', ARGV[3] .. 'pending', ARGV[1])\n", ""),
    "retry uses > for max attempts": ("retry", ">= tonumber(ARGV[4])", "> tonumber(ARGV[4])"),
    "retry forgets last_error": ("retry", "redis.call('HSET', KEYS[4], 'last_error', ARGV[5])\n", ""),
    "promote takes only scores below now": ("promote", "'-inf', now,", "'-inf', '(' .. now,"),
    "the limit of reap is 99": ("reap", "0, 100)", "0, 99)"),
    "sweep resets stalled": ("sweep_stalled", "'state', 'pending')", "'state', 'pending', 'stalled', '0')"),
    "reprocess keeps last_error": ("reprocess", "redis.call('HDEL', KEYS[1], 'last_error')\n", ""),
    "extend_lock skips the token": ("extend_lock", "if attempts ~= ARGV[2]", "if false"),
    "a script writes one key more": ("update_data", "return 1", "redis.call('SET', 'stray', '1') return 1"),
    "a script adds 1 ms": ("delay", "+ due\n", "+ due + 1\n"),
    "a script publishes one event more": (
        "complete",
        "return 1",
        "redis.call('PUBLISH', ARGV[3] .. 'events', 'x') return 1",
    ),
    "a script answers text for a number": ("complete", "return 1", "return '1'"),
}

SAME = {
    "complete compares the token as numbers": (
        "complete",
        "if attempts ~= ARGV[2]",
        "if tonumber(attempts) ~= tonumber(ARGV[2])",
    ),
}
"""Changes that no call can tell from the script as it is: tokens come as decimal integers, and attempts is a count."""


def changed(script: str, text: str, instead: str) -> dict[str, str]:
    """The bundled script with a change, as the check takes it."""
    source = bundled_scripts()[script]
    assert text in source, (script, text)
    return {script: source.replace(text, instead)}

"""One database: its keys, their expiry, and its clock.

A key is `bytes`, its value one of these, by exact type:

    bytes        a string                dict         a hash: text to bytes
    list         a list of bytes         set          a set of bytes
    SortedSet    a sorted set            Stream       a stream (`stream.py`)

Fields of a hash and members of a sorted set are text, since the machine's are: `text(word)` and `octets(name)` go
from one to the other, every byte a character, so that the order of texts is the order of bytes. **These values
are the state of the machines**: a queue's `emq:{q}:pending` is the very set that the model's claim pops from
(`modelled.py` ties them together), and a command that changes it has changed the model.

How a command is written, in `commands/`: a function in the table, called with the `Call` and the words after the
name. What it gives is the answer (`resp.py` says which values are what); an error is raised. Two of them:

    @command("get", 2, "readonly fast", keys=(1, 1, 1))
    def get(call: Call, key: bytes) -> Reply:
        return call.db.find(key, bytes)                # None where there is no key; raises WRONGTYPE

    @command("zadd", -4, "write denyoom fast", keys=(1, 1, 1))
    def zadd(call: Call, key: bytes, score: bytes, member: bytes) -> Reply:
        value = to_float(score)                        # everything is checked before anything is changed
        members = call.db.make(key, SortedSet)         # the set at the key, or a new one; raises WRONGTYPE
        added = text(member) not in members
        members.add(text(member), value)
        call.db.changed(key)                           # always, after a value was changed in place
        return int(added)

The rules: `find` to read, `make` to add to, `put` to replace a value (its expiry goes), `delete`, and `changed(key)`
after a value was changed in place: it deletes an empty container, wakes who waits for the key and fails the
transactions that watch it. `expire_at` sets a key's time. Never touch `db.keys` but to read.
What is due has gone before a command runs, so no command looks whether something has expired. Time is `db.now_ms`.
A command that waits raises `Block` (`registry.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, TypeVar

from emqsim.clock import VirtualClock
from emqsim.server.serving.resp import Error
from emqsim.zset import SortedSet

Value = Any
T = TypeVar("T")

WRONGTYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_INTEGER = Error("ERR value is not an integer or out of range")
NOT_FLOAT = Error("ERR value is not a valid float")
SYNTAX = Error("ERR syntax error")

_CONTAINERS = frozenset((dict, list, set, SortedSet))
"""Types whose empty value does not exist as a key."""

QUEUE_PREFIX = b"emq:{"


def text(word: bytes) -> str:
    """A field or a member as the containers hold it: each byte a character."""
    return word.decode("latin-1")


def octets(name: str) -> bytes:
    """Back from `text`."""
    return name.encode("latin-1")


def to_int(word: bytes, error: Error = NOT_INTEGER) -> int:
    """A signed 64-bit integer as the server reads it: digits, no plus, no leading zeros, no spaces."""
    digits = word[1:] if word[:1] == b"-" else word
    if digits.isdigit() and len(digits) < 20 and (digits[:1] != b"0" or word == b"0"):
        value = int(word)
        if -(2**63) <= value < 2**63:
            return value
    raise error


def to_float(word: bytes, error: Error = NOT_FLOAT) -> float:
    """A double as the server reads it (strtod, without spaces and nan): `3`, `.5e1`, `-inf`, `0x1p3`."""
    try:
        if b"_" in word or word != word.strip():
            raise error
        value = float.fromhex(word.decode()) if b"x" in word[:3].lower() else float(word)
    except (ValueError, OverflowError):
        raise error from None
    if value != value:
        raise error
    return value


class Database:
    """A world of its own: keys, expiry, clock, who waits and who watches.

    `hash_fields` that expire are beside their hash, in `field_expires`: key to field to Unix ms.
    """

    def __init__(self, index: int = 0, clock: VirtualClock | None = None) -> None:
        self.index = index
        self.clock = clock if clock is not None else VirtualClock()
        self.keys: dict[bytes, Value] = {}
        self.expires: dict[bytes, int] = {}
        """Unix ms, of the keys that have a time."""
        self.field_expires: dict[bytes, dict[str, int]] = {}
        self._due: list[tuple[int, bytes, str | None]] = []
        self.waiting: dict[bytes, Any] = {}
        """Keys that blocked calls wait for."""
        self.ready: list[bytes] = []
        """Those of them that have changed since they were last looked at."""
        self.watched: dict[bytes, set[Any]] = {}
        """Keys under WATCH, with who watches them (each has an attribute `broken`)."""
        self.foreign: set[bytes] | None = set()
        """Keys of queues that a command changed and the model has not looked at yet; `None`: there is no model."""

    # Reading and writing values.

    @property
    def now_ms(self) -> int:
        """The clock's time in whole Unix milliseconds."""
        return self.clock.now_ms

    def find(self, key: bytes, kind: type[T]) -> T | None:
        """The value at the key, `None` where there is none; raises WRONGTYPE."""
        value = self.keys.get(key)
        if value is not None and type(value) is not kind:
            raise WRONGTYPE
        return value

    def make(self, key: bytes, kind: type[T]) -> T:
        """The container at the key, a new one where there is none; raises WRONGTYPE. Call `changed` afterwards,
        even where nothing came into it after all."""
        value = self.keys.get(key)
        if value is None:
            value = self.keys[key] = kind()
        elif type(value) is not kind:
            raise WRONGTYPE
        return value

    def put(self, key: bytes, value: Value, *, keep_ttl: bool = False) -> None:
        """Have the key hold this value, whatever it held; an empty container deletes it."""
        self.keys[key] = value
        if not keep_ttl:
            self.expires.pop(key, None)
        if self.field_expires:
            self.field_expires.pop(key, None)
        self.changed(key)

    def delete(self, key: bytes) -> bool:
        """Delete the key; whether there was one."""
        if self.keys.pop(key, None) is None:
            return False
        self._forget(key)
        self.touched(key)
        return True

    def _forget(self, key: bytes) -> None:
        if self.expires:
            self.expires.pop(key, None)
        if self.field_expires:
            self.field_expires.pop(key, None)

    def changed(self, key: bytes) -> None:
        """The value at the key was changed in place."""
        value = self.keys.get(key)
        if not value and type(value) in _CONTAINERS:
            del self.keys[key]
            self._forget(key)
        self.touched(key)

    def touched(self, key: bytes) -> None:
        """Tell who waits for the key, who watches it, and the model."""
        if self.waiting and key in self.waiting:
            self.ready.append(key)
        if self.watched and key in self.watched:
            for watcher in self.watched[key]:
                watcher.broken = True
        if key.startswith(QUEUE_PREFIX) and self.foreign is not None:
            self.foreign.add(key)

    def rename(self, key: bytes, to: bytes) -> None:
        """Move the value with its times to another name, whatever that held."""
        value, at, fields = self.keys[key], self.expires.get(key), self.field_expires.get(key)
        self.delete(key)
        self.put(to, value)
        self._due_again(to, at, fields)
        self.changed(to)

    def copy_key(self, key: bytes, into: Database, to: bytes) -> None:
        """Copy the value with its times to another name, or into another database."""
        value, at, fields = self.keys[key], self.expires.get(key), self.field_expires.get(key)
        into.put(to, duplicate(value))
        into._due_again(to, at, fields and dict(fields))
        into.changed(to)

    def _due_again(self, key: bytes, at: int | None, fields: dict[str, int] | None) -> None:
        if at is not None:
            self.expire_at(key, at)
        for name, when in (fields or {}).items():
            self.expire_field_at(key, name, when)

    def flush(self) -> None:
        """Delete every key."""
        for key in list(self.keys):
            self.delete(key)
        self._due.clear()

    # Time.

    def expire_at(self, key: bytes, at_ms: int | None) -> None:
        """Set the Unix ms at which an existing key goes, or `None` for never; one that has passed deletes it."""
        if at_ms is None:
            self.expires.pop(key, None)
        elif at_ms <= self.clock.now_ms:
            self.delete(key)
            return
        else:
            self.expires[key] = at_ms
            heappush(self._due, (at_ms, key, None))
        self.touched(key)

    def expire_field_at(self, key: bytes, name: str, at_ms: int | None) -> None:
        """The same for a field of an existing hash. Who writes a field (HSET) calls this with `None`."""
        times = self.field_expires.get(key)
        if at_ms is None:
            if times is not None and times.pop(name, None) is not None and not times:
                del self.field_expires[key]
            return
        if at_ms <= self.clock.now_ms:
            self.expire_field_at(key, name, None)
            self.keys[key].pop(name, None)
        else:
            self.field_expires.setdefault(key, {})[name] = at_ms
            heappush(self._due, (at_ms, key, name))
        self.changed(key)

    def expire(self) -> None:
        """Delete the keys and the fields that are due: before each command, never lazily on a read."""
        due = self._due
        if not due:
            return
        now_ms = self.clock.now_ms
        while due and due[0][0] <= now_ms:
            at_ms, key, name = heappop(due)
            if name is None:
                if self.expires.get(key) == at_ms:
                    self.delete(key)
            elif self.field_expires.get(key, {}).get(name) == at_ms:
                self.expire_field_at(key, name, at_ms)

    def next_expiry_ms(self) -> int | None:
        """When the next key or field goes."""
        due = self._due
        while due:
            at_ms, key, name = due[0]
            held = self.expires.get(key) if name is None else self.field_expires.get(key, {}).get(name)
            if held == at_ms:
                return at_ms
            heappop(due)
        return None

    # The whole.

    def copy(self) -> Database:
        """An independent database in the same state, with its own clock; nobody waits on it or watches."""
        twin = Database(self.index, self.clock.copy())
        twin.keys = {key: duplicate(value) for key, value in self.keys.items()}
        twin.expires = self.expires.copy()
        twin.field_expires = {key: times.copy() for key, times in self.field_expires.items()}
        twin._due = self._due.copy()
        return twin

    def names(self, matches: Callable[[bytes], bool]) -> Iterator[bytes]:
        """The keys that match, in the order in which they came."""
        return filter(matches, list(self.keys))


def duplicate(value: Value) -> Value:
    """An independent value that is equal."""
    return value if type(value) is bytes else value.copy()

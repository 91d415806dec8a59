"""A sorted set in exact Redis order: by score, then by the bytes of the member."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedList


class SortedSet:
    """Members with scores, as ZADD, ZREM, ZPOPMIN, ZRANGE and ZRANGEBYSCORE see them.

    Members are ASCII text, whose order is the order of their bytes; scores are doubles.
    Finding, adding and removing take O(log n).
    """

    __slots__ = ("_order", "_scores")

    def __init__(self) -> None:
        self._scores: dict[str, float] = {}
        self._order: SortedList = SortedList()

    def __len__(self) -> int:
        return len(self._scores)

    def __contains__(self, member: str) -> bool:
        return member in self._scores

    def __iter__(self) -> Iterator[tuple[float, str]]:
        return iter(self._order)

    def score(self, member: str) -> float | None:
        """ZSCORE."""
        return self._scores.get(member)

    def add(self, member: str, score: float) -> None:
        """ZADD: a member that is there moves to the new score."""
        before = self._scores.get(member)
        if before is not None:
            if before == score:
                return
            self._order.remove((before, member))
        self._scores[member] = score
        self._order.add((score, member))

    def remove(self, member: str) -> bool:
        """ZREM: whether the member was there."""
        score = self._scores.pop(member, None)
        if score is None:
            return False
        self._order.remove((score, member))
        return True

    def pop_min(self) -> str:
        """ZPOPMIN of a set that is not empty: the member with the lowest score."""
        member: str = self._order.pop(0)[1]
        del self._scores[member]
        return member

    def first(self, limit: int) -> list[str]:
        """ZRANGE 0 limit-1."""
        return [member for _, member in self._order.islice(0, limit)]

    def due(self, now: float, limit: int) -> list[str]:
        """ZRANGEBYSCORE -inf now LIMIT 0 limit."""
        found = []
        for score, member in self._order.islice(0, limit):
            if score > now:
                break
            found.append(member)
        return found

    def pop_due(self, now: float, limit: int) -> list[str]:
        """As `due`, and a ZREM of each: they are the first."""
        found = self.due(now, limit)
        del self._order[: len(found)]
        for member in found:
            del self._scores[member]
        return found

    def newest(self, limit: int) -> list[str]:
        """ZRANGE + - BYLEX REV LIMIT 0 limit, where all scores are equal."""
        return [member for _, member in self._order.islice(-limit, None, reverse=True)]

    def items(self) -> list[tuple[str, float]]:
        """ZRANGE 0 -1 WITHSCORES."""
        return [(member, score) for score, member in self._order]

    def clear(self) -> None:
        """DEL."""
        self._scores.clear()
        self._order.clear()

    def copy(self) -> SortedSet:
        """An independent set with the same members."""
        twin = SortedSet()
        twin._scores = self._scores.copy()
        twin._order = self._order.copy()
        return twin

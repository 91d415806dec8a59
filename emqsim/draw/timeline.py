"""Calls over virtual time: a lane a job, bars for the sets that hold it, marks for the calls.

Columns stand in the order of the calls. Each is as wide as its words need, and what the time between two calls
adds is in proportion, so that words never meet and a long wait still looks long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from emqsim.base import BaseQueue
from emqsim.draw.play import play
from emqsim.draw.sets import since
from emqsim.draw.svg import MONO, Picture, Sheet, width_of, wrapped
from emqsim.history import Event, Recording, Timeline
from emqsim.keys import SETS
from emqsim.trace import Program, Step

LEFT, TOP, TRACK, WORDS = 150, 64, 20, 13
STRETCH = 260
"""How much width the time between the calls adds in all."""
GAP = 18
"""How far apart columns are at least."""
LABEL = 132
"""How wide the words at a mark may be."""


class Moment(NamedTuple):
    """A column: a call, or a deadline that passes before it. Compared by their order, since a clock can step back."""

    number: int
    is_call: bool
    now_us: int


class Mark(NamedTuple):
    """A call in a lane."""

    at: Moment
    words: list[str]
    refused: bool


class Span(NamedTuple):
    """Something that lasts: a set that holds the job, or a lease. `end` is `None` where it lasts still."""

    which: str
    start: Moment
    end: Moment | None

    def covers(self, moment: Moment) -> bool:
        """Whether the moment is in it; its end is not."""
        return self.start <= moment and (self.end is None or moment < self.end)


@dataclass
class Lane:
    """One job, or what concerns none."""

    name: str
    marks: list[Mark] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)
    leases: list[Span] = field(default_factory=list)
    tracks: list[list[Span]] = field(default_factory=list)


def timeline(source: Program | Recording | BaseQueue | Timeline) -> Picture:
    """What happened to the jobs of a program, a recording, a queue made with `history=True`, or to one job
    (`queue.history(job_id)`).

    A bar is a set that holds the job; two bars one above the other are two sets at once. The band under an active
    bar is the lease, up to its deadline. A mark is a call, a cross one that was refused. Calls of a program that
    concern no job are in a lane of their own. Raises `ValueError` for a queue without a history, and where nothing
    happened.
    """
    events, others = _events(source)
    calls = sorted({*(at for placed in events.values() for at, _ in placed), *(at for at, _ in others)})
    lanes = [_lane(job_id, each, calls) for job_id, each in events.items()]
    if others:
        lanes.append(Lane("the queue", [_mark(at, step) for at, step in others]))
    if not lanes:
        raise ValueError("source: nothing happened, so there is no timeline")
    axis = _Axis(lanes)
    return _draw(lanes, axis).picture("\n\n".join(_text(events, others)))


# From calls to lanes.

Placed = list[tuple[Moment, Event]]


def _events(
    source: Program | Recording | BaseQueue | Timeline,
) -> tuple[dict[str, Placed], list[tuple[Moment, Step]]]:
    """The events of each job, and the steps that concern no job, each with its moment."""
    if isinstance(source, Program):
        return _played(source)
    if isinstance(source, Recording):
        return _played(source.program())
    if isinstance(source, Timeline):
        return _counted([source]), []
    if not isinstance(source, BaseQueue):
        raise TypeError(f"source must be a Program, a Recording, a queue or a Timeline, not {source!r}")
    return _counted(source.histories()), []


def _counted(timelines: Sequence[Timeline]) -> dict[str, Placed]:
    """Events, placed by the numbers of their calls."""
    return {
        events[0].job_id: [(Moment(event.number, True, event.now_us), event) for event in events]
        for events in timelines
        if events
    }


def _played(program: Program) -> tuple[dict[str, Placed], list[tuple[Moment, Step]]]:
    found: dict[str, Placed] = {}
    others = []
    for number, (step, news, _) in enumerate(play(program), 1):
        at = Moment(number, True, step.now_us)
        for event in news:
            found.setdefault(event.job_id, []).append((at, event))
        if not news:
            others.append((at, step))
    return found, others


def _lane(job_id: str, events: Placed, calls: Sequence[Moment]) -> Lane:
    lane = Lane(job_id)
    since: dict[str, Moment] = {}
    lease: tuple[Moment, float] | None = None
    for at, event in events:
        lane.marks.append(_event_mark(at, event))
        for change in event.changes:
            if change.which == "active":
                if lease is not None:
                    lane.leases.append(_lease(*lease, at, calls))
                lease = None if change.after is None else (at, change.after)
            if change.before is None:
                since[change.which] = at
            elif change.after is None and change.which in since:
                lane.held.append(Span(change.which, since.pop(change.which), at))
    lane.held += [Span(which, start, None) for which, start in since.items()]
    if lease is not None:
        lane.leases.append(_lease(*lease, None, calls))
    lane.held.sort(key=lambda span: (span.start, SETS.index(span.which)))
    for span in lane.held:
        _track(lane, span)
    return lane


def _lease(start: Moment, deadline_ms: float, left: Moment | None, calls: Sequence[Moment]) -> Span:
    """A lease up to its deadline, or until the job left active before."""
    deadline_us = int(deadline_ms * 1000)
    later = (call.number for call in calls if call > start and call.now_us >= deadline_us)
    deadline = Moment(next(later, calls[-1].number + 1), False, deadline_us)
    return Span("active", start, deadline if left is None else min(deadline, left))


def _track(lane: Lane, span: Span) -> None:
    """Put a bar into the first track where it meets no other."""
    for track in lane.tracks:
        if track[-1].end is not None and track[-1].end <= span.start:
            track.append(span)
            return
    lane.tracks.append([span])


def _mark(at: Moment, step: Step, words: str = "") -> Mark:
    """A call, with what else there is to say of it, or why it was refused."""
    ((kind, value),) = (step.answer or {"ok": None}).items()
    if kind != "ok":
        words = f"{kind}: {value}"
    return Mark(at, [step.call, *(wrapped(words, LABEL, 11) if words else ())], kind != "ok")


def _event_mark(at: Moment, event: Event) -> Mark:
    words = ""
    if event.call in ("claim", "claim_batch"):
        words = "drops a ghost" if event.token is None else f"token {event.token}"
    if event.call == "retry":
        words = str(event.answer.get("ok"))
    return _mark(at, Step(event.now_us, event.call, event.args, event.answer), words)


# From lanes to a picture.


class _Axis:
    """Where each moment stands. A deadline and a call that meets it are one column."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        moments = {mark.at for lane in lanes for mark in lane.marks}
        moments |= {span.end for lane in lanes for span in lane.leases if span.end is not None}
        self.moments = sorted(moments)
        self.start_us = self.moments[0].now_us
        waits = [max(after.now_us - at.now_us, 0) for at, after in pairwise(self.moments)]
        total = sum(waits) or 1
        rooms = [
            {mark.at: max(width_of(each, 11.5) for each in mark.words) for mark in lane.marks}
            for lane in lanes
        ]
        rooms.append({at: width_of(self.time(at), 11) for at in self.firsts()})
        free = [0.0] * len(rooms)
        x = LEFT + 12.0 - GAP
        self._x: dict[Moment, float] = {}
        met = {
            at: after for at, after in pairwise(self.moments) if not at.is_call and at.now_us == after.now_us
        }
        for moment, wait in zip(self.moments, [0, *waits], strict=True):
            x += STRETCH * wait / total + (0 if moment in met.values() else GAP)
            columns = {moment, met.get(moment, moment)}
            x = max([x, *(end for room, end in zip(rooms, free, strict=True) if columns & room.keys())])
            self._x[moment] = x
            for index, room in enumerate(rooms):
                if moment in room:
                    free[index] = x + room[moment] + 14
        self.end = x + 40
        self.width = max(self.end, *free) + 16

    def firsts(self) -> list[Moment]:
        """The first moment of each time."""
        changes = (after for at, after in pairwise(self.moments) if at.now_us != after.now_us)
        return [self.moments[0], *changes]

    def time(self, at: Moment) -> str:
        """The time since the first call."""
        return since(at.now_us - self.start_us)

    def x(self, moment: Moment | None) -> float:
        """The place of a moment; the end of the picture for what lasts still."""
        if moment is None:
            return self.end
        return self._x[moment]


def _draw(lanes: Sequence[Lane], axis: _Axis) -> Sheet:
    heights = [_height(lane) for lane in lanes]
    height = TOP + sum(heights) + 44
    sheet = Sheet(max(axis.width, 620), height, "Timeline")
    sheet.text(16, 26, "virtual time", size=12, fill="muted")
    for at in axis.firsts():
        sheet.text(axis.x(at), 26, axis.time(at), size=11, fill="muted")
    y: float = TOP - 18
    for lane, room in zip(lanes, heights, strict=True):
        _lane_drawn(sheet, lane, axis, y, room)
        y += room
    _legend(sheet, height - 16)
    return sheet


def _height(lane: Lane) -> float:
    words = max(len(mark.words) for mark in lane.marks)
    return 22 + (TRACK + 6) * max(len(lane.tracks), 1) + WORDS * words + 14


def _lane_drawn(sheet: Sheet, lane: Lane, axis: _Axis, y: float, room: float) -> None:
    sheet.path([(16, y), (axis.end, y)], stroke="rule")
    top = y + 12
    bottom = top + max(len(lane.tracks), 1) * (TRACK + 6)
    for at in axis.firsts():
        sheet.path([(axis.x(at), y), (axis.x(at), bottom)], stroke="rule")
    sheet.text(16, top + 15, lane.name, size=13, font=MONO, bold=True)
    stops = [axis.x(at) for at in (*(mark.at for mark in lane.marks), *(lease.end for lease in lane.leases))]
    for index, track in enumerate(lane.tracks):
        base = top + index * (TRACK + 6)
        for span in track:
            _bar(sheet, span, axis, base, stops)
            for lease in lane.leases:
                if span.which == lease.which and span.covers(lease.start):
                    _lease_drawn(sheet, lease, axis, base)
    for mark in lane.marks:
        x = axis.x(mark.at)
        sheet.path([(x, top - 4), (x, bottom + 4)], stroke="alarm" if mark.refused else "ink", thick=1.5)
        if mark.refused:
            sheet.cross(x, bottom + 4, 9, stroke="alarm")
        for index, words in enumerate(mark.words):
            sheet.text(
                x,
                bottom + 21 + index * WORDS,
                words,
                size=11,
                fill="alarm" if mark.refused else "ink",
                bold=index == 0,
            )


def _bar(sheet: Sheet, span: Span, axis: _Axis, y: float, stops: Sequence[float]) -> None:
    """A bar, named where its name meets no call and no deadline."""
    start, end = axis.x(span.start), axis.x(span.end)
    sheet.box(start, y, end - start, TRACK - 6, fill=f"{span.which}-soft", stroke=span.which, thick=1.5)
    room = min([end, *(stop for stop in stops if stop > start)]) - start
    if room > width_of(span.which, 10.5) + 8:
        sheet.text(start + 6, y + 11, span.which, size=10.5)


def _lease_drawn(sheet: Sheet, lease: Span, axis: _Axis, y: float) -> None:
    """A band under the bar, with a stop where the deadline ends it."""
    start, end = axis.x(lease.start), axis.x(lease.end)
    sheet.box(start, y + TRACK - 5, end - start, 6, fill="active")
    if lease.end is not None and not lease.end.is_call:
        sheet.box(end - 2, y - 4, 4, TRACK + 6, fill="active")


_LEGEND = (
    ("pending", "pending"),
    ("active", "active"),
    ("schedule", "schedule"),
    ("dead", "dead"),
)


def _legend(sheet: Sheet, y: float) -> None:
    x = 16.0
    for which, words in _LEGEND:
        sheet.box(x, y - 10, 22, 12, fill=f"{which}-soft", stroke=which, thick=1.5)
        sheet.text(x + 28, y, words, size=11)
        x += 40 + width_of(words, 11)
    sheet.box(x, y - 6, 22, 6, fill="active")
    sheet.box(x + 20, y - 11, 4, 13, fill="active")
    sheet.text(x + 30, y, "lease, to its deadline", size=11)
    x += 44 + width_of("lease, to its deadline", 11)
    sheet.cross(x + 6, y - 4, 9, stroke="alarm")
    sheet.text(x + 16, y, "refused", size=11)


def _text(events: dict[str, Placed], others: list[tuple[Moment, Step]]) -> Iterator[str]:
    for placed in events.values():
        yield str(Timeline(event for _, event in placed))
    if others:
        yield "\n".join(["the queue", *(f"  {step}: {step.answer}" for _, step in others)])

"""The search: breadth first through every state, each call made on the real model."""

from __future__ import annotations

import gc
import sys
import time
from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from emqsim import guards
from emqsim.clock import VirtualClock
from emqsim.dialect import Dialect, Rules
from emqsim.errors import QueueError
from emqsim.explore.clients import (
    CALLED,
    CLAIMS,
    FAULTS,
    LESSONS,
    MAX_STALLED,
    METHODS,
    TIME,
    Call,
    Callers,
    Clients,
    Knowledge,
    Known,
    served,
)
from emqsim.explore.graph import Graph, place
from emqsim.explore.program import replayed
from emqsim.explore.properties import (
    ALWAYS,
    ENDS,
    EVENTUALLY,
    LOST,
    RETURNS,
    Kind,
    Property,
    made_by,
    moves,
    refusals,
)
from emqsim.explore.report import VERDICTS, Bounds, Exploration, Outcome
from emqsim.explore.space import UNIT, Space, State
from emqsim.explore.watch import DoesNotReturn, Watch
from emqsim.queue import Queue

_BETWEEN_LOOKS = 64
"""How many states are explored between two looks at the time limit."""

CTRL_C = "Ctrl-C"

_LOW = 2**32 - 1

_TIME = 0
"""The number of the step that is no call."""

_KEPT = 1_000_000
"""How many results of calls are kept, at most, before they are forgotten and made again."""

Result = tuple[int, int] | None
"""What a call does in a state of the machine: the state it leads to and the lesson it teaches, 0 for none; `None`
where it changes nothing."""


def explore(
    *,
    jobs: int = 1,
    max_claims: int = 3,
    max_attempts: int = 3,
    dialect: Dialect | str = Dialect.WIRE4,
    clients: Clients | str = Clients.FAITHFUL,
    faults: bool = False,
    without: Iterable[str] = (),
    depth: int | None = None,
    time_limit: float | None = None,
    rules: Rules | None = None,
    properties: Sequence[Property] = (),
) -> Exploration:
    """Visit every state that `jobs` jobs and their clients can lead a queue to, and judge each.

    `max_claims` bounds the tokens of a job; `max_attempts` is what workers say in a retry. With `faults` rows and
    set entries vanish, and somebody outside locks a job. `without` names methods or transitions that nobody
    calls. `depth` bounds the steps of a program, `time_limit` the seconds; Ctrl-C ends the search as well, and
    each time what was covered is reported. `rules` replace those of the dialect; `properties` are asked beside
    the built-in ones.

    Raises `ValueError` or `TypeError` for a bad argument.
    """
    guards.integer(jobs, "jobs", 1, 20)
    guards.integer(max_claims, "max_claims", 1, 30)
    guards.integer(max_attempts, "max_attempts")
    guards.choice(clients, "clients", tuple(Clients))
    guards.flag(faults, "faults")
    left_out = tuple(without)
    for name in left_out:
        guards.choice(
            name, "without", tuple(dict.fromkeys((*CALLED, *map(METHODS.__getitem__, CALLED), *FAULTS)))
        )
    if depth is not None:
        guards.count(depth, "depth", 0)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be above 0, not {time_limit!r}")
    for each in properties:
        if not isinstance(each, Property):
            raise TypeError(f"properties must be made with always, sometimes or eventually, not {each!r}")
    clock = VirtualClock()
    job_ids = [clock.mint() for _ in range(jobs)]
    queue = Queue("q", clock=clock, dialect=dialect, rules=rules)
    callers = Callers(
        Clients(clients),
        job_ids,
        max_claims=max_claims,
        max_attempts=max_attempts,
        faults=faults,
        without=frozenset(left_out),
    )
    search = _Search(queue, callers, properties)
    started = time.perf_counter()
    collects = gc.isenabled()
    gc.disable()
    try:
        with search.watch:
            stopped = search.run(depth, None if time_limit is None else started + time_limit)
    finally:
        if collects:
            gc.enable()
    seconds = time.perf_counter() - started
    return Exploration(
        bounds=Bounds(
            jobs=jobs,
            max_claims=max_claims,
            max_attempts=max_attempts,
            dialect=queue.dialect,
            clients=callers.kind,
            faults=faults,
            without=left_out,
            need_lease=tuple(sorted(queue.rules.need_lease)),
        ),
        states=len(search.found),
        transitions=search.transitions,
        calls=search.made,
        depth=search.depth,
        claims_cut=search.claims_cut,
        stopped=stopped,
        seconds=seconds,
        peak_mb=_peak_mb(),
        outcomes=tuple(search.outcomes(exhaustive=not stopped)),
        graph=Graph(search.places, search.arrows) if jobs == 1 else None,
    )


def _peak_mb() -> float | None:
    """The largest memory this process has used so far, in MB, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


class _Verdict(NamedTuple):
    """What was found about a state of the machine."""

    broken: tuple[str, ...]
    ended: tuple[bool, ...]
    """For each job, whether sweeps and a faithful worker bring it to an end."""
    at_rest: bool
    """Whether nothing is left in pending, active and schedule then."""
    never: tuple[str, ...]
    """The properties of one's own that do not hold even then."""


class _Search:
    """One exploration under way.

    A state has a number in `space` for the machine, and one in `knowledge` for what clients know; as one key
    `machine << 32 | known`. States themselves are numbered in the order in which they are found.

    What a call does to the machine does not depend on what clients know, so each call is made once in each state
    of the machine, and what it did is kept in `results`.
    """

    def __init__(self, queue: Queue, callers: Callers, properties: Sequence[Property]) -> None:
        self.queue = queue
        self.callers = callers
        self.space = Space(queue, callers.job_ids, MAX_STALLED - 1)
        self.knowledge: list[Knowledge] = []
        self.known: dict[Knowledge, int] = {}
        self.seen: set[int] = set()
        self.found = array("Q")
        self.parents = array("I")
        self.ways = array("I")
        """The number of the call by which a state was found."""
        self.calls: list[Call] = []
        self.methods: list[Any] = []
        """The method of the queue behind each call; `None` for the passing of time."""
        self.numbers: dict[Call, int] = {}
        self.plans: dict[tuple[int, int], list[int]] = {}
        self.lessons: list[tuple[Call, Hashable]] = [(Call(""), None)]
        self.lesson_numbers: dict[tuple[int, Hashable], int] = {}
        self.learnt: dict[int, tuple[int, str | None]] = {}
        self.results: dict[int, dict[int, Result]] = {}
        self.kept = 0
        self.made = self.transitions = self.depth = 0
        self.claims_cut = self.hangs = False
        self.finishes = True
        """Whether sweeps and a faithful worker have come to an end each time; once they have not, no more is tried."""
        self.watch = Watch()
        self.draws = len(callers.job_ids) == 1
        self.place_of: dict[int, str] = {}
        self.places: dict[str, bool] = {}
        self.arrows: set[tuple[str, str, str]] = set()
        self.own = {kind: [each for each in properties if each.kind is kind] for kind in Kind}
        self.verdicts: list[_Verdict] = []
        """On each of the machine's states."""
        self.by_shape: dict[tuple[Any, ...], _Verdict] = {}
        self.counts: dict[str, int] = {}
        self.first: dict[str, tuple[int, int | None]] = {}
        """Where a property was first broken: a state, and the call in it that did it, if it was one."""
        self.open_moves = moves(callers.without)
        self.answered: set[str] = set()
        self.refused: set[tuple[str, str | None]] = set()
        self.happened: dict[str, int] = {}
        self._number(Call(TIME))
        machine, _ = self.space.read()
        self._judge(self.space.states[machine])
        self._add(machine << 32 | self._know((Known(),) * len(callers.job_ids)), 0, 0)

    def run(self, depth_limit: int | None, until: float | None) -> str:
        """Search to the end; gives what stopped it before, if something did."""
        found = self.found
        level_ends, at = len(found), 0
        try:
            while at < len(found):
                if at == level_ends:
                    self.depth += 1
                    level_ends = len(found)
                if self.depth == depth_limit:
                    return f"depth {depth_limit}"
                if until is not None and at % _BETWEEN_LOOKS == 0 and time.perf_counter() > until:
                    return "the time limit"
                self._expand(at)
                if self.hangs:
                    return "a call that does not return"
                at += 1
        except KeyboardInterrupt:
            return CTRL_C
        return ""

    def _expand(self, at: int) -> None:
        """Take every step that leads on from one state."""
        seen, callers, learnt, draws = self.seen, self.callers, self.learnt, self.draws
        machine, known_number = self.found[at] >> 32, self.found[at] & _LOW
        state = self.space.states[machine]
        plan = self.plans.get((known_number, state.to_come))
        if plan is None:
            plan = [self._number(call) for call in callers.calls(self.knowledge[known_number], state.to_come)]
            self.plans[known_number, state.to_come] = plan
        results = self._results(machine, plan, at)
        here = self._place(machine, known_number) if draws else ""
        for number in plan:
            result = results[number]
            if result is None:
                continue
            self.transitions += 1
            to, lesson = result
            after = known_number
            if lesson:
                learned = learnt.get(known_number << 32 | lesson)
                after, broken = self._learn(known_number, lesson) if learned is None else learned
                if broken is not None:
                    self._break(broken, at, number)
            key = to << 32 | after
            if key not in seen:
                self._add(key, at, number)
            if draws and (there := self._place(to, after)) != here:
                self.arrows.add((here, self.calls[number].method, there))

    def _number(self, call: Call) -> int:
        number = self.numbers.get(call)
        if number is None:
            number = self.numbers[call] = len(self.calls)
            self.calls.append(call)
            self.methods.append(getattr(self.queue, call.method, None))
        return number

    def _know(self, known: Knowledge) -> int:
        number = self.known.get(known)
        if number is None:
            number = self.known[known] = len(self.knowledge)
            self.knowledge.append(known)
        return number

    def _learn(self, known_number: int, lesson: int) -> tuple[int, str | None]:
        """The knowledge after a lesson."""
        call, seen = self.lessons[lesson]
        known = self.knowledge[known_number]
        after, broken = LESSONS[call.method].learn(self.callers, known, call.args, seen)
        learned = self.learnt[known_number << 32 | lesson] = self._know(after), broken
        return learned

    def _lesson(self, number: int, seen: Hashable) -> int:
        lesson = self.lesson_numbers.get((number, seen))
        if lesson is None:
            lesson = self.lesson_numbers[number, seen] = len(self.lessons)
            self.lessons.append((self.calls[number], seen))
        return lesson

    def _results(self, machine: int, numbers: list[int], at: int) -> dict[int, Result]:
        """What each call does in a state of the machine; those not made in it before are made."""
        results = self.results.get(machine)
        if results is None:
            if self.kept > _KEPT:
                self.results.clear()
                self.kept = 0
            results = self.results[machine] = {}
        missing = [number for number in numbers if number not in results]
        if missing:
            self.space.enter(machine)
            for number in missing:
                results[number] = self._make(number, machine, at)
            self.kept += len(missing)
        return results

    def _make(self, number: int, machine: int, at: int) -> Result:
        """Make a call on the model, in the state that was entered, and come back to it."""
        space, call = self.space, self.calls[number]
        answer = None
        if number == _TIME:
            space.pass_next_deadline()
        else:
            try:
                self.watch.call = self.made = self.made + 1
                answer = self.methods[number](*call.args)
                self.watch.call = 0
            except QueueError as refused:
                self.watch.call = 0
                self.refused.add((call.method, refused.wire))
                if space.changed():
                    self._break("refusal_changed", at, number)
                    space.restore()
                return None
            except DoesNotReturn:
                self.watch.call, self.hangs = 0, True
                self._break(RETURNS, at, number)
                space.restore()
                return None
            self.answered.add(call.method)
            if not space.changed():
                return None
            if call.method in CLAIMS and any(
                claimed.token > self.callers.max_claims for claimed in served(answer)
            ):
                self.claims_cut = True
                space.restore()
                return None
        to, new = space.read()
        before, after = space.states[machine].jobs, space.states[to].jobs
        still_open = self.open_moves.get(METHODS.get(call.method, ""))
        if still_open:
            still_open[:] = [move for move in still_open if not made_by(move, before, after)]
        if new:
            self._judge(space.states[to])
        if number == _TIME:
            space.turn_back()
        space.restore()
        lesson = LESSONS.get(call.method)
        return to, 0 if lesson is None else self._lesson(number, lesson.seen(answer, before, after))

    def _judge(self, state: State) -> None:
        """Ask of the state that the queue is in, new among the machine's, what it breaks, and what does not hold
        even after a while. Only a property of one's own can tell deadlines apart that are in another order."""
        queue = self.queue
        shape = None if any(self.own.values()) else state.shape
        verdict = self.by_shape.get(shape) if shape is not None else None
        if verdict is None:
            broken = [violation.name for violation in queue.violations()]
            broken += [each.name for each in self.own[Kind.ALWAYS] if not each.holds(queue)]
            for each in self.own[Kind.SOMETIMES]:
                if each.holds(queue):
                    self.happened[each.name] = self.happened.get(each.name, 0) + 1
            verdict = _Verdict(tuple(broken), *self._wind_up())
            if shape is not None:
                self.by_shape[shape] = verdict
        self.verdicts.append(verdict)

    def _wind_up(self) -> tuple[tuple[bool, ...], bool, tuple[str, ...]]:
        """Let all deadlines pass, hand over what lapsed and what is due, and let a faithful worker claim and
        complete all that waits: the last three parts of the verdict."""
        queue, job_ids = self.queue, self.callers.job_ids
        completed: set[str] = set()
        if self.finishes:
            self.watch.call = -len(self.verdicts) - 1
            try:
                self._finish(completed)
            except DoesNotReturn:
                self.finishes = False
            self.watch.call = 0
        machine = queue._machine
        at_rest = not (machine.pending or machine.active or machine.sets["schedule"])
        ended = tuple([at_rest and (each in completed or each in machine.sets["dead"]) for each in job_ids])
        never = tuple([each.name for each in self.own[Kind.EVENTUALLY] if not each.holds(queue)])
        self.space.turn_back()
        return ended, at_rest, never

    def _finish(self, completed: set[str]) -> None:
        """What sweeps and a faithful worker do, when all deadlines have passed."""
        queue, job_ids = self.queue, self.callers.job_ids
        queue.resume()
        queue.clock.advance(ms=2 * len(job_ids) * UNIT)
        queue.promote(2 * len(job_ids))
        queue.reap()
        for _ in range(4 * len(job_ids)):
            claimed = queue.claim(UNIT)
            if claimed is None:
                break
            with suppress(QueueError):
                queue.complete(claimed.job_id, claimed.token)
                completed.add(claimed.job_id)

    def _add(self, key: int, at: int, number: int) -> None:
        """A new state, found by a call in the state `at`; count what it breaks."""
        index = len(self.found)
        self.seen.add(key)
        self.found.append(key)
        self.parents.append(at)
        self.ways.append(number)
        broken, ended, at_rest, never = self.verdicts[key >> 32]
        for name in broken:
            self._break(name, index, None)
        lost, open_ended = False, not at_rest
        for job, of, end in zip(
            self.space.states[key >> 32].jobs, self.knowledge[key & _LOW], ended, strict=True
        ):
            if of.admitted and not of.ended:
                lost = lost or not job.sets
                open_ended = open_ended or not end
        if lost:
            self._break(LOST, index, None)
        if open_ended:
            self._break(ENDS, index, None)
        for name in never:
            self._break(name, index, None)

    def _break(self, name: str, at: int, number: int | None) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        self.first.setdefault(name, (at, number))

    def _place(self, machine: int, known_number: int) -> str:
        """Where the one job is, in words."""
        known = self.knowledge[known_number][0]
        of = machine << 2 | known.admitted << 1 | known.ended
        where = self.place_of.get(of)
        if where is None:
            where = self.place_of[of] = place(self.space.states[machine].jobs[0], known)
            self.places.setdefault(where, where == LOST or bool(self.verdicts[machine].broken))
        return where

    # The outcome.

    def _path(self, index: int, number: int | None) -> list[Call]:
        """The calls that lead from the empty queue to a state, and one more if there is one."""
        path = [] if number is None else [self.calls[number]]
        while index:
            path.append(self.calls[self.ways[index]])
            index = self.parents[index]
        return path[::-1]

    def outcomes(self, exhaustive: bool) -> Iterator[Outcome]:
        """The verdict on each property."""
        for kind, says in ((Kind.ALWAYS, ALWAYS), (Kind.EVENTUALLY, EVENTUALLY)):
            for name, words in (says | {each.name: each.says for each in self.own[kind]}).items():
                fails, so_far, holds = VERDICTS[kind]
                count, program = self.counts.get(name, 0), None
                if count:
                    path = self._path(*self.first[name])
                    note = f"{name}: {words}" if words else name
                    program = replayed(self.queue, path, note, hangs=name == RETURNS)
                verdict = fails if count else holds if exhaustive else so_far
                yield Outcome(kind, name, words, verdict, count, program)
        fails, so_far, happens = VERDICTS[Kind.SOMETIMES]
        for name, words, times in self._sometimes():
            verdict = happens if times else fails if exhaustive else so_far
            yield Outcome(Kind.SOMETIMES, name, words, verdict, int(times), None)

    def _sometimes(self) -> Iterator[tuple[str, str, int]]:
        """Each thing that has to happen: its name, in words, and whether it did."""
        answered = {METHODS.get(method) for method in self.answered}
        without = self.callers.without
        for name, all_moves in moves(without).items():
            for move in all_moves:
                yield f"{name}: {move.name}", move.does, move not in self.open_moves[name]
            if not all_moves:
                yield name, "answers", name in answered
        refused = {(METHODS[method], wire) for method, wire in self.refused}
        for name, all_refusals in refusals(self.callers.kind, self.callers.faults, without).items():
            for refusal in all_refusals:
                yield f"{name} refuses: {refusal.why}", refusal.wire or "", (name, refusal.wire) in refused
        for each in self.own[Kind.SOMETIMES]:
            yield each.name, each.says, self.happened.get(each.name, 0)

"""Hazards in words: the table of all, and one step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from emqsim.dialect import Dialect
from emqsim.hazards.catalogue import HAZARDS, Hazard
from emqsim.hazards.play import Moment, Playing, play_model
from emqsim.text.calls import answer_text, argument_text, time_text
from emqsim.text.words import aligned


def find(name: str) -> Hazard:
    """A hazard by its name; `ValueError` for none."""
    if name not in HAZARDS:
        raise ValueError(f"NAME: {name!r} is no hazard; there are {', '.join(HAZARDS)}")
    return HAZARDS[name]


def ending(playing: Playing) -> str:
    """How a hazard ended, with the invariants that broke."""
    broken = f" ({', '.join(playing.broken)})" if playing.broken else ""
    return f"{playing.outcome}{broken}"


def table_text() -> Iterator[str]:
    """Every hazard: how it ends in each dialect, and where it was reported."""
    rows = [("hazard", *Dialect, "reported")]
    for hazard in HAZARDS.values():
        endings = [ending(play_model(hazard, dialect)) for dialect in Dialect]
        same = len(set(endings)) == 1
        rows.append(
            (hazard.name, endings[0], *(('"' if same else each) for each in endings[1:]), hazard.reported)
        )
    yield from aligned(rows)
    yield ""
    yield 'A " stands for the same as to its left. One hazard step by step: emqsim hazards NAME'


def urls(hazard: Hazard) -> list[str]:
    """The public pages of a hazard's reports."""
    found = re.findall(r"([\w.-]+/[\w.-]+)#(\d+)", hazard.reported)
    return [f"https://github.com/{repository}/issues/{number}" for repository, number in found]


def hazard_text(hazard: Hazard, dialect: Dialect | str) -> Iterator[str]:
    """One hazard: what it is, its program step by step, and how it ends."""
    playings = {each: play_model(hazard, each) for each in Dialect}
    playing = playings[Dialect(dialect)]
    yield f"{hazard.name}: {hazard.says}"
    yield f"  reported: {hazard.reported}"
    yield from (f"  {url}" for url in urls(hazard))
    if hazard.symptom is not None:
        yield f"  symptom: {hazard.symptom.__doc__}"
    yield ""
    start = playing.moments[0].now_ms
    for number, moment in enumerate(playing.moments, 1):
        yield from _moment(number, moment, start)
    yield ""
    for each, played in playings.items():
        yield f"{each}: {ending(played)}" + (", the symptom shows" if played.shows else "")
    yield f"here: {hazard.here}"


def _moment(number: int, moment: Moment, start: int) -> Iterator[str]:
    act = moment.act
    when = time_text((moment.now_ms - start) * 1000)
    arguments = ", ".join(map(argument_text, act.args))
    yield f"  {number:2}  {when:>8}  {act.who}: {act.call}({arguments})  ->  {_answer(moment)}"
    for which, members in moment.sets.items():
        if members:
            yield f"{'':14}{which:8}  {_members(members, start)}"
    for violation in moment.violations:
        yield f"{'':14}broken    {violation.name}: {', '.join(violation.job_ids)}"


def _answer(moment: Moment) -> str:
    value = moment.answer.get("ok")
    if moment.act.call == "claim" and value is None:
        return "nothing"
    if isinstance(value, list) and len(value) > 6:
        return f"{len(value)} in all"
    return answer_text(moment.answer)


def _members(members: list[tuple[str, float]], start: int) -> str:
    if len(members) > 6:
        return f"{members[0][0]} … {members[-1][0]}, {len(members)} in all"
    return ", ".join(
        member + (f" at {time_text(int(score - start) * 1000)}" if score else "") for member, score in members
    )

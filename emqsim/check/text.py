"""A divergence and a report as people and programs read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from emqsim.check.divergence import Divergence
from emqsim.check.report import Report
from emqsim.text.calls import answer_text, argument_text, program_text
from emqsim.text.words import counted
from emqsim.trace import lines, plain


def divergence_text(found: Divergence, with_script: bool = True) -> Iterator[str]:
    """The program as numbered steps, what differs, and the script with its KEYS and ARGV."""
    steps = found.program.steps
    last = steps[found.step]
    differ = "differs" if found.what in (["answer"], ["state"]) else "differ"
    yield f"step {found.step + 1}, {last}: the server's {' and '.join(found.what)} {differ} from the model's"
    yield ""
    yield from program_text(steps)
    if "answer" in found.what:
        yield ""
        yield "answer"
        yield f"  model   {answer_text(found.model)}"
        yield f"  server  {answer_text(found.server)}"
    if "state" in found.what:
        yield ""
        yield "keys that differ after the step"
        if found.after_server is None:
            yield "  they were not looked at one by one"
        else:
            yield from _states(found.after_model, found.after_server)
    if "events" in found.what:
        yield ""
        yield "events of the step"
        yield f"  model   {found.events_model}"
        yield f"  server  {found.events_server}"
    for words in _remarks(found):
        yield ""
        yield words
    for _, script, keys, argv in found.calls[:1] if with_script else ():
        if script is None:
            continue
        yield ""
        yield f"script {script.name}{' (yours)' if script.given else ''}" + (
            f", {len(found.calls)} times; the first:" if len(found.calls) > 1 else ""
        )
        yield from (f"  KEYS[{index}]  {key}" for index, key in enumerate(keys, 1))
        yield from (f"  ARGV[{index}]  {argument_text(value)}" for index, value in enumerate(argv, 1))
        yield ""
        yield from (
            f"  {number:4}  {line}".rstrip() for number, line in enumerate(script.source.splitlines(), 1)
        )


def _remarks(found: Divergence) -> Iterator[str]:
    """What else there is to say about a divergence."""
    if found.environment:
        yield f"this says something about the server and not about the scripts: {found.environment}"
    if found.raised and found.after_server is not None:
        if found.changed_nothing:
            yield "the script ended in an error before it changed anything"
        else:
            yield "the script ended in an error: Lua has no rollback, so what it had written until then stays"
    if found.note:
        yield found.note


def _states(model: Mapping[str, Any], server: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*model, *server}):
        ours, theirs = model.get(key), server.get(key)
        if ours == theirs:
            continue
        if isinstance(ours, dict) and isinstance(theirs, dict):
            names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
            ours, theirs = ({name: side.get(name) for name in names} for side in (ours, theirs))
        elif isinstance(ours, list) and isinstance(theirs, list):
            ours, theirs = _unlike(ours, theirs)
        yield f"  {key}"
        yield f"    model   {_value(ours)}"
        yield f"    server  {_value(theirs)}"


def _unlike(ours: list[Any], theirs: list[Any]) -> tuple[list[Any], list[Any]]:
    """Two long lists without what is the same at their beginnings, where that leaves something."""
    same = 0
    while same < min(len(ours), len(theirs)) and ours[same] == theirs[same]:
        same += 1
    if len(ours) <= 8 and len(theirs) <= 8:
        return ours, theirs
    skipped = [f"({same} the same)"] if same else []
    return [*skipped, *ours[same : same + 4]], [*skipped, *theirs[same : same + 4]]


def _value(value: Any) -> str:
    if value is None:
        return "(no such key)"
    if isinstance(value, tuple):
        return f"(a {value[0]})"
    if isinstance(value, dict):
        return "  ".join(
            f"{name} {'(none)' if text is None else argument_text(text)}" for name, text in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_member, value)) or "(empty)"
    return argument_text(value)


def _member(entry: Any) -> str:
    if isinstance(entry, tuple) and len(entry) == 2:
        member, score = entry
        return f"{member} {score:.0f}" if abs(score) < 2**53 else f"{member} {score!r}"
    return entry if isinstance(entry, str) else argument_text(entry)


def report_text(report: Report, again: str = "", replay: str = "emqsim replay") -> Iterator[str]:
    """The whole report; `again` is the command that makes the same run, `replay` the one that takes a trace."""
    if report.ignored:
        yield f"left out, no script of {report.dialect}: {', '.join(report.ignored)}"
    if report.divergence is not None:
        yield from divergence_text(report.divergence)
        yield ""
        if report.programs:
            yield f"run it again: {again or f'seed {report.seed}'}"
        if report.trace_path:
            yield f"saved as {report.trace_path}; replay it with: {replay} {report.trace_path}"
        if report.test_path:
            yield f"written as a test: pytest {report.test_path}"
    elif report.failure is not None:
        if report.program is not None and report.program.steps:
            yield "the program so far, with the model's answers"
            yield from program_text(report.program.steps)
    else:
        yield from coverage_text(report)
    yield from report.notes
    if report.left:
        yield f"keys that may stay on the server, as they could not be deleted: {', '.join(report.left)}"
    yield ""
    yield verdict_text(report)


def coverage_text(report: Report) -> Iterator[str]:
    """What was reached, and what was not."""
    yield f"{'transition':15}  how often it ended how"
    for name, outcomes in report.coverage.table():
        yield f"{name:15}  " + ", ".join(f"{outcome} {count}" for outcome, count in outcomes)
    yield ""
    yield "faults reached   " + ", ".join(
        f"{name} {count}" for name, count in report.coverage.faults.most_common()
    )
    yield "not reached      " + (", ".join(report.coverage.missed()) or "nothing")


def verdict_text(report: Report) -> str:
    """One line: how much ran, on what, with what, and how it ended."""
    others = ", the others bundled" if report.bundled else ""
    whose = f"scripts: {', '.join(report.yours)} yours{others}" if report.yours else "bundled scripts"
    saved = f", {report.saved} saved" if report.saved else ""
    limit = ", stopped by the time limit" if report.out_of_time else ""
    undecided = f" ({report.undecided} undecided)" if report.clock == "server" else ""
    time = ", on the server's time" if report.clock == "server" else ""
    verdict = "FAILED" if report.failure else "CONFORMS" if report.conforms else "DIVERGES"
    why = f"{report.failure}; after " if report.failure else ""
    programs, steps = counted(report.programs, "program"), counted(report.steps, "step")
    return (
        f"{verdict}: {why}{programs}{saved}, {steps}{undecided} in {report.seconds:.1f} s"
        f"{limit}, {report.dialect} on {report.server}{time}, {whose}, seed {report.seed}"
    )


def report_json(report: Report) -> dict[str, Any]:
    """The report as one JSON object."""
    found = report.divergence
    divergence = found and {
        "step": found.step + 1,
        "differs": found.what,
        "program": [json.loads(line) for line in lines(found.program)],
        "model": {
            "answer": found.model,
            "keys": plain(found.after_model),
            "events": plain(found.events_model),
        },
        "server": {
            "answer": found.server,
            "keys": None if found.after_server is None else plain(found.after_server),
            "events": plain(found.events_server),
        },
        "calls": [
            {"transition": name, "script": script and script.name, "keys": plain(keys), "argv": plain(argv)}
            for name, script, keys, argv in found.calls
        ],
        "hung": found.hung,
        "note": found.note,
        "trace": report.trace_path,
        "test": report.test_path,
    }
    return {
        "conforms": report.conforms,
        "dialect": str(report.dialect),
        "server": report.server,
        "seed": report.seed,
        "programs": report.programs,
        "steps": report.steps,
        "saved": report.saved,
        "seconds": round(report.seconds, 3),
        "out_of_time": report.out_of_time,
        "scripts": {"yours": report.yours, "bundled": report.bundled, "ignored": report.ignored},
        "reached": {name: dict(outcomes) for name, outcomes in report.coverage.table()},
        "faults": dict(report.coverage.faults),
        "not_reached": report.coverage.missed(),
        "divergence": divergence,
        "clock": report.clock,
        "undecided": report.undecided,
        "failure": report.failure,
        "program": report.program and [json.loads(line) for line in lines(report.program)],
        "left": report.left,
        "notes": report.notes,
    }

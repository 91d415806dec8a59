"""`emqsim explore`, its graph and traces, and what it finds on a real server and in the documentation."""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from importlib.resources import files
from xml.etree import ElementTree

import pytest
from side_by_side import on_both

from emqsim import Queue, trace
from emqsim.check import check
from emqsim.commands.main import main
from emqsim.dialect import RULES, Dialect
from emqsim.explore import Exploration, explore
from emqsim.explore.fixes import FIXES, fixed_rules, fixed_scripts
from emqsim.scripts.bundle import bundled_scripts

FINDINGS = (files("emqsim") / "docs" / "findings.md").read_text("utf-8")


@cache
def explored(clients: str, **more: object) -> Exploration:
    return explore(clients=clients, **more)  # type: ignore[arg-type]


@cache
def fixed(dialect: str, clients: str, jobs: int) -> Exploration:
    return explore(dialect=dialect, clients=clients, jobs=jobs, rules=fixed_rules(dialect))


@pytest.mark.parametrize("dialect", ["wire3", "wire4"])
@pytest.mark.parametrize("clients", ["late", "hostile"])
def test_the_shortest_programs_do_the_same_on_a_real_server(dialect, clients, valkey_server):
    found = explore(dialect=dialect, clients=clients, max_claims=1, faults=clients == "late", depth=9)
    assert len(found.programs) >= 4
    for program in found.programs:
        on_both(program, valkey_server)


def test_each_fixed_script_has_one_line_more_or_a_longer_one():
    assert set(fixed_scripts()) == set(FIXES)
    for name, source in fixed_scripts().items():
        changes = [
            line
            for line in difflib.ndiff(bundled_scripts()[name].splitlines(), source.splitlines())
            if line[0] in "+-"
        ]
        assert sum(line[0] == "+" for line in changes) == 1, name
        assert sum(line[0] == "-" for line in changes) <= 1, name


@pytest.mark.parametrize("name", FIXES)
def test_each_fix_is_seen_by_the_check_without_its_rule(name, valkey_server):
    others = [other for other in FIXES if other != name]
    report = check(
        server=valkey_server,
        scripts=fixed_scripts(),
        rules=fixed_rules(names=others),
        dialect="wire4",
        examples=100,
        seed=1,
    )
    assert not report.conforms


def test_rules_of_its_own_leave_the_dialects_alone():
    assert all(not rules.need_lease for rules in RULES.values())
    queue = Queue("q", rules=fixed_rules())
    assert queue.dialect is Dialect.WIRE4
    assert queue.copy().rules == queue.rules == fixed_rules()
    assert queue != Queue("q")
    with pytest.raises(TypeError, match="rules must be a Rules"):
        Queue("q", rules="strict")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names must be one of"):
        fixed_rules(names=["claim"])


# The command.


def test_the_command_reports_and_writes_a_trace_that_replays(tmp_path, capsys):
    path = tmp_path / "late.jsonl"
    assert main(["explore", "--clients", "late", "--max-claims", "1", "--trace", str(path)]) == 1
    assert "always: broken" in capsys.readouterr().out
    programs, cut = trace.read(path)
    assert cut is None
    assert programs[0].note.startswith("in_two_sets")
    assert main(["replay", str(path), "--server", "embedded"]) == 0
    assert "SAME" in capsys.readouterr().out


def test_the_command_as_json_and_its_status(capsys):
    assert main(["explore", "--json", "--fix", "all", "--clients", "hostile"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["exhaustive"]
    assert data["bounds"]["need_lease"] == sorted(FIXES)
    assert {each["verdict"] for each in data["properties"]} == {"holds", "happens"}


@pytest.mark.parametrize(
    "arguments", [["--graph", "x.png"], ["--graph", "x.svg", "--jobs", "2"], ["--without", "clam"]]
)
def test_the_command_refuses_before_it_searches(arguments, capsys):
    assert main(["explore", *arguments]) == 2
    assert arguments[0].removeprefix("--") in capsys.readouterr().err


# The graph.


def test_the_graph_of_faithful_clients_is_the_life_of_a_job(tmp_path):
    graph = explored("faithful").graph
    assert graph is not None
    assert set(graph.places) == {"not admitted", "pending", "active", "schedule", "dead", "gone"}
    assert ("pending", "claim", "active") in graph.arrows
    assert ("active", "retry", "dead") in graph.arrows
    assert not any(here == "gone" for here, _, _ in graph.arrows)
    for suffix in ("dot", "mmd", "svg", "json"):
        graph.write(tmp_path / f"g.{suffix}")
    assert '"pending" -> "active" [label="claim\\nclaim_batch"];' in (tmp_path / "g.dot").read_text()
    assert '-->|"claim<br>claim_batch"|' in (tmp_path / "g.mmd").read_text()
    assert len(json.loads((tmp_path / "g.json").read_text())["arrows"]) == len(graph.arrows)
    drawing = ElementTree.parse(tmp_path / "g.svg").getroot()
    words = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert words >= set(graph.places) | {call for _, call, _ in graph.arrows}


def test_a_drawing_stops_where_an_invariant_is_broken():
    graph = explore(clients="late", max_claims=1).graph
    assert graph is not None
    assert graph.places["pending + active"]
    drawn = graph.drawn()
    assert ("pending", "pending + active") in drawn
    assert not any(graph.places[here] for here, _ in drawn)
    assert any(graph.places[here] for here, _, _ in graph.arrows)
    assert len({end for arrow in drawn for end in arrow}) <= 12


# The page of findings.


def rows(*heads: str) -> list[list[str]]:
    """The rows of the page's table with these heads."""
    head = "| " + " | ".join(heads)
    table = FINDINGS.partition(head)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def counts(found: Exploration) -> str:
    return "; ".join(f"{each.name} {each.count:,}" for each in found.outcomes if each.fails)


@pytest.mark.parametrize(
    "row",
    [row for row in rows("dialect", "clients", "states", "transitions", "depth") if row[1] != "late"],
    ids=lambda row: f"{row[0]}-{row[1]}",
)
def test_the_findings_are_what_explore_says(row):
    dialect, clients, *numbers, broken = row
    if clients != "faithful" and dialect != "wire4":
        assert broken.partition(";")[0] == rows("dialect", "clients", "states")[7][5].partition(";")[0]
        return
    found = explored(clients, dialect=dialect) if dialect != "wire4" else explored(clients)
    assert numbers == [f"{found.states:,}", f"{found.transitions:,}", str(found.depth)]
    assert broken == (counts(found) or "nothing")
    assert not any(each.verdict == "never" for each in found.outcomes)


def test_the_findings_on_late_clients():
    (row,) = [row for row in rows("dialect", "clients", "states") if row[:2] == ["wire4", "late"]]
    found = explored("late")
    assert row[2:] == [f"{found.states:,}", f"{found.transitions:,}", str(found.depth), counts(found)]
    lengths = {each.name: len(each.program.steps) for each in found.outcomes if each.program}
    assert lengths == {"in_two_sets": 4, "ghost": 5, "stub_row": 6, "attempts_fell": 7, "settled_twice": 8}


def test_the_findings_on_two_jobs():
    found = explore(jobs=2)
    assert found.exhaustive
    assert found.holds
    assert f"{found.states:,} states, {found.transitions:,} transitions, exhaustive" in FINDINGS


@pytest.mark.parametrize("row", rows("dialect", "clients", "jobs"), ids=lambda row: "-".join(row[:3]))
def test_the_findings_under_the_fixes(row):
    dialect, clients, jobs, *numbers = row
    if jobs == "2" and clients == "late":
        assert row[3] == rows("dialect", "clients", "jobs")[-1][3]
        return
    found = fixed(dialect, clients, int(jobs))
    assert found.exhaustive
    assert found.holds
    assert numbers == [f"{found.states:,}", f"{found.transitions:,}"]


def test_the_findings_on_faults():
    found = explored("faithful", faults=True)
    assert {row[0]: row[1] for row in rows("broken", "count")} == {
        each.name: f"{each.count:,}" for each in found.outcomes if each.fails
    }
    assert f"{found.states:,} states" in FINDINGS


def test_the_lines_in_the_findings_are_those_of_the_fixes():
    for name, shown, *_ in ((row[0], *re.findall(r"`(.*?)`", row[1])) for row in rows("script", "the line")):
        assert shown.removeprefix("… ") in fixed_scripts()[name], name


def test_the_example_of_the_findings_runs():
    (block,) = re.findall(r"```python\n(.*?)```", FINDINGS, re.S)
    exec(compile(block, "findings", "exec"), {})


def test_ctrl_c_ends_with_the_report_of_what_was_covered(capsys, monkeypatch):
    plain, made = Queue.claim, []

    def claim(queue, lease_ms):
        made.append(lease_ms)
        if len(made) == 500:
            raise KeyboardInterrupt
        return plain(queue, lease_ms)

    monkeypatch.setattr(Queue, "claim", claim)
    assert main(["explore", "--clients", "late"]) == 130
    out = capsys.readouterr().out
    assert "NOT exhaustive, stopped by Ctrl-C" in out
    assert "always: broken        in_two_sets" in out

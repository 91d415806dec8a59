"""The transition table: whole, true of the scripts, and the one in the documents."""

import re
from pathlib import Path

import pytest

from emqsim import Dialect, Queue
from emqsim.commands.main import main
from emqsim.commands.table import LIFECYCLE, lifecycle_markdown, lifecycle_rows
from emqsim.keys import SETS
from emqsim.machine import OUTSIDE, READS, TRANSITIONS
from emqsim.scripts.bundle import bundled_scripts, script_names
from emqsim.violations import STATES

ROWS = list(TRANSITIONS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_and_its_scripts_say_the_same(row):
    for dialect in Dialect:
        source = bundled_scripts()[row.script(dialect)]
        code = "\n".join(line for line in source.splitlines() if not line.startswith("--"))
        spread = row.name in ("drain", "extend_locks", "remove_job")
        for name, words in (("KEYS", row.keys), ("ARGV", row.argv)):
            used = {int(index) for index in re.findall(rf"{name}\[(\d+)\]", code)}
            assert used <= set(range(1, len(words) + 1)), (name, used)
            if not spread:
                unused = set(range(1, len(words) + 1)) - used
                assert not unused, (name, unused)
        for refusal in row.refusals:
            shown = f"'{refusal.wire}'" if refusal.wire else f"return {refusal.reply}\n"
            assert shown in code
        for move in row.moves:
            if move.state:
                assert f"'{move.state.decode()}'" in code


def test_every_state_belongs_to_one_set():
    assert {which: state.decode() for which, state in STATES.items()} == {
        "pending": "pending",
        "active": "active",
        "schedule": "scheduled",
        "dead": "dead",
    }


def test_every_call_of_a_queue_is_in_a_table():
    methods = {method for row in ROWS for method in row.methods}
    assert all(callable(getattr(Queue, method)) for method in methods)
    assert not set(TRANSITIONS) & set(READS) | set(READS) & set(OUTSIDE)


def test_moves_name_sets():
    for row in ROWS:
        for move in row.moves:
            assert {*move.leaves, *([move.enters] if move.enters else [])} <= set(SETS)


def test_script_names():
    assert set(bundled_scripts()) == set(script_names())


def test_the_command_prints_every_transition(capsys):
    assert main(["table"]) == 0
    out = capsys.readouterr().out
    for row in ROWS:
        assert re.search(rf"^{row.name} ", out, re.M)
        if row.native:
            assert row.native in out


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_command_prints_one_transition(capsys, row):
    assert main(["table", row.name]) == 0
    out = capsys.readouterr().out
    for refusal in row.refusals:
        assert refusal.wire is None or refusal.wire in out
    for dialect in Dialect:
        assert bundled_scripts()[row.script(dialect)].rstrip() in out
    assert f"ARGV[{len(row.argv)}]" in out or not row.argv


@pytest.mark.parametrize("name", ["claim2", "EMQ.CLAIM", "claim"])
def test_a_transition_goes_by_all_its_names(capsys, name):
    assert main(["table", name]) == 0
    assert capsys.readouterr().out.startswith("claim\n")


def test_no_such_transition(capsys):
    assert main(["table", "explode"]) == 2
    assert "'explode' is no transition; there are enqueue, " in capsys.readouterr().err


def test_the_lifecycle():
    assert [row[:3] for row in lifecycle_rows()] == [
        ("claim", "pending", "active"),
        ("complete", "active", "gone"),
        ("retry", "active", "schedule"),
        ("dead", "active", "dead"),
        ("reap", "active", "pending"),
    ]
    assert [row[0] for row in lifecycle_rows()] == list(LIFECYCLE)


def test_the_readme_has_the_lifecycle_table():
    readme = Path(__file__).parents[1].joinpath("README.md").read_text("utf-8")
    assert f"<!-- lifecycle -->\n\n{lifecycle_markdown()}\n<!-- /lifecycle -->" in readme


MOVES = """
enqueue: - > pending
schedule: - > schedule
claim: pending > active
bclaim: pending > active
extend_lock: - > active
extend_locks: - > active
complete: active pending > -
retry: active pending > schedule
retry: active pending > dead
delay: active > schedule
promote: schedule > pending
reap: active > pending
sweep_stalled: active > pending
sweep_stalled: active > dead
reprocess: dead > pending
drain: pending schedule > -
obliterate: active pending schedule dead > -
remove_job: pending active schedule dead > -
"""
"""Every set that a transition takes a job from, and where it puts it, as the machine is specified."""


def test_every_move_is_as_specified():
    shown = [
        f"{row.name}: {' '.join(move.leaves) or '-'} > {move.enters or '-'}"
        for row in TRANSITIONS.values()
        for move in row.moves
    ]
    assert shown == MOVES.strip().splitlines()

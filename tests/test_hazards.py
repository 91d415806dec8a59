"""The catalogue of known bugs: how each ends, on the model and on the real scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emqsim import Dialect, VirtualClock
from emqsim.commands.main import main
from emqsim.hazards import HAZARDS, play, play_model
from emqsim.hazards.play import QUEUE
from emqsim.server import EmbeddedServer, ServerQueue, embedded_server

ENDINGS = {
    "eta-beyond-visibility": "absorbed",
    "copies-pile-up": "happens",
    "sweep-cannot-keep-up": "happens",
    "pop-and-lock-apart": "absorbed",
    "ghost-without-data": "absorbed",
    "both-complete": "refused",
    "settled-twice": "happens ghost stub_row",
    "swept-after-leaving": "absorbed",
    "two-recoverers": "absorbed",
    "lapsed-and-row-gone": "happens stub_row",
    "lease-entry-lost": "happens row_in_no_set",
    "heartbeat-after-sweep": "happens in_two_sets ghost",
    "popped-not-registered": "absorbed",
    "enqueued-by-half": "absorbed",
    "swept-before-started": "absorbed",
    "poison-recovered-for-ever": "happens",
    "shutdown-requeue-and-retry": "absorbed",
    "promoted-twice": "absorbed",
    "runs-past-its-reservation": "happens",
    "released-twice": "refused",
    "delayed-after-loss": "happens in_two_sets",
    "dead-then-completed": "happens ghost",
    "dead-then-extended": "happens in_two_sets",
    "reprocessed-with-old-count": "happens",
}
"""How each hazard ends and what it breaks, in every dialect that `WIRE3` does not except."""

WIRE3 = {"heartbeat-after-sweep": "happens in_two_sets ghost stub_row"}
"""In wire3 a claim serves a ghost."""

SHOWN = {
    "copies-pile-up",
    "sweep-cannot-keep-up",
    "settled-twice",
    "lapsed-and-row-gone",
    "lease-entry-lost",
    "heartbeat-after-sweep",
    "poison-recovered-for-ever",
    "runs-past-its-reservation",
    "delayed-after-loss",
    "dead-then-extended",
    "reprocessed-with-old-count",
}
"""Those whose symptom shows in the answers."""


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with embedded_server() as running:
        yield running


def test_every_hazard_is_expected_to_end_somehow() -> None:
    assert list(HAZARDS) == list(ENDINGS)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", HAZARDS)
def test_how_a_hazard_ends(name: str, dialect: Dialect) -> None:
    played = play_model(HAZARDS[name], dialect)
    expected = WIRE3.get(name, ENDINGS[name]) if dialect is Dialect.WIRE3 else ENDINGS[name]
    assert " ".join([played.outcome, *played.broken]) == expected
    assert played.shows == (name in SHOWN)


@pytest.mark.parametrize("dialect", [Dialect.WIRE3, Dialect.WIRE4])
@pytest.mark.parametrize("name", HAZARDS)
def test_the_real_scripts_do_the_same(name: str, dialect: Dialect, server: EmbeddedServer) -> None:
    client, clock = server.client(), VirtualClock()
    client.flushall()
    queue = ServerQueue(QUEUE, client, clock=clock, dialect=dialect)
    try:
        on_server = play(HAZARDS[name], queue, clock)
    finally:
        queue.close()
        client.close()
    assert on_server == play_model(HAZARDS[name], dialect)


def test_the_table_names_each_hazard(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hazards"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[1 : len(HAZARDS) + 1]] == list(HAZARDS)


@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard_is_played_step_by_step(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hazards", name]) == 0
    printed = capsys.readouterr().out
    hazard = HAZARDS[name]
    assert printed.startswith(f"{name}: {hazard.says}\n")
    numbered = [line for line in printed.splitlines() if line[2:4].strip().isdigit()]
    assert len(numbered) == len(hazard.program)
    assert f"wire4: {play_model(hazard, Dialect.WIRE4).outcome}" in printed


def test_a_name_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hazards", "fire"]) == 2
    assert "NAME: 'fire' is no hazard; there are eta-beyond-visibility, " in capsys.readouterr().err

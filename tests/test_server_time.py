"""The check on the server's own time: scripts byte for byte, the model at each millisecond that it can have been."""

import re
from hashlib import sha1

import pytest
from between import CLAIMED_AND_COMPLETED, save
from planted import PLANTED, changed

from emqsim.check import check
from emqsim.commands.main import main
from emqsim.scripts.bundle import bundled_scripts
from emqsim.server import embedded_server

SEED = 20_241_129

AWAKE = "local since = os.clock() while os.clock() - since < {seconds} do end "


@pytest.mark.parametrize("dialect", ["wire3", "wire4"])
def test_the_bundled_scripts_conform(server, dialect):
    report = check(server, clock="server", dialect=dialect, examples=10, seed=SEED)
    assert report.conforms, report.divergence
    assert (report.programs, report.clock) == (10, "server")
    assert report.steps > 200


def test_leases_lapse_and_jobs_fall_due_while_programs_run(valkey_server):
    outcomes = check(valkey_server, clock="server", examples=25, seed=SEED).coverage.outcomes
    for name in ("promote", "reap", "sweep_stalled"):
        assert outcomes[name, "acted"], name
        assert outcomes[name, "nothing to do"], name


def test_the_scripts_run_byte_for_byte():
    with embedded_server() as fresh:
        check(fresh, clock="server", examples=3, seed=SEED)
        client = fresh.client()
        unused = ("claim", "bclaim")
        shas = [
            sha1(text.encode()).hexdigest() for name, text in bundled_scripts().items() if name not in unused
        ]
        assert all(client.script_exists(*shas))
        client.close()


@pytest.mark.parametrize(
    "fault",
    [
        "the lease is the lease instead of now + lease",
        "a script adds 1 ms",
        "claim pops the newest",
        "complete forgets pending",
        "a script publishes one event more",
        "a script writes one key more",
    ],
)
def test_a_planted_fault_is_found(valkey_server, fault):
    report = check(
        valkey_server, scripts=changed(*PLANTED[fault]), clock="server", dialect="wire4", seed=SEED
    )
    assert not report.conforms
    assert report.failure is None
    assert len(report.divergence.program.steps) <= 12
    assert report.yours == [PLANTED[fault][0]]


def test_on_a_server_of_others(valkey_server):
    server = valkey_server
    client = server.client()
    client.flushall()
    report = check(server.url, clock="server", examples=5, seed=SEED)
    assert report.conforms, report.failure or report.divergence
    assert client.dbsize() == 0
    lies = changed(*PLANTED["a script adds 1 ms"])
    found = check(server.url, scripts=lies, clock="server", seed=SEED).divergence
    assert found.program.steps[-1].call.startswith("delay")
    assert "at none of them" in found.note
    assert all(key.startswith("emq:{emqsim-") for key in {**found.after_model, **found.after_server})
    assert client.dbsize() == 0
    client.close()


def slow(seconds):
    return {"complete": AWAKE.format(seconds=seconds) + bundled_scripts()["complete"]}


def test_every_millisecond_of_a_wide_bracket_is_tried(redis_server, tmp_path):
    """This server's TIME goes on while a script runs, so that a claim that dawdles has a late deadline."""
    dawdles = {"claim2": "for i = 1, 600000 do end " + bundled_scripts()["claim2"]}
    save(tmp_path, *CLAIMED_AND_COMPLETED)
    report = check(redis_server, scripts=dawdles, clock="server", folder=tmp_path, examples=1, seed=SEED)
    assert report.conforms, report.divergence
    assert (report.saved, report.undecided) == (1, 0)


def test_a_bracket_that_is_too_wide_is_undecided_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "complete.lua").write_text(slow(0.06)["complete"])
    save(tmp_path / ".emqsim", *CLAIMED_AND_COMPLETED)
    assert (
        main(["check", "--clock", "server", "--scripts", "complete.lua", "--examples", "1", "--steps", "1"])
        == 0
    )
    undecided = re.search(r" steps? \((\d+) undecided\) in ", capsys.readouterr().out.splitlines()[-1])
    assert int(undecided[1]) >= 1


def test_a_script_that_never_ends():
    with embedded_server() as own:
        report = check(own, scripts={"complete": "while true do end"}, clock="server", seed=SEED)
    assert report.divergence.hung
    assert report.divergence.program.steps[-1].call == "complete"


def test_a_clock_that_is_none(valkey_server):
    with pytest.raises(ValueError, match=r"clock .*'wall'"):
        check(valkey_server, clock="wall")

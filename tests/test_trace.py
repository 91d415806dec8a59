"""Traces: written, read, cut off, refused, replayed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emqsim import Dialect, Queue, trace
from emqsim.commands.main import main
from emqsim.trace import Program, Step, TraceError

RECORDED = Path(__file__).parent / "data" / "recorded-wire3.jsonl"
HEAD = '{"emqsim": "trace", "version": 1, "queue": "q", "dialect": "wire4"}'
A = "JOB00000000000"
T0 = 1_704_067_200_000_000


def step(**changes):
    line = {"now_us": T0, "call": "enqueue", "args": [A, "a"], "answer": {"ok": "enqueued"}} | changes
    return json.dumps({name: value for name, value in line.items() if value is not ...})


@pytest.fixture
def written(tmp_path):
    """Write lines to a trace file."""

    def write(*lines, end="\n"):
        path = tmp_path / "t.jsonl"
        path.write_text("\n".join(lines) + end)
        return path

    return write


def replay(capsys, *arguments):
    status = main(["replay", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


@given(
    st.lists(st.tuples(st.integers(0, 2**63 - 1), st.binary(), st.integers(-(2**63), 2**63 - 1))),
    st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), min_size=1),
)
def test_what_is_written_is_read(tmp_path_factory, made, name):
    steps = [
        Step(now_us, "retry", (A, 1, number, 2, octets), {"ok": "dead"}) for now_us, octets, number in made
    ]
    path = tmp_path_factory.mktemp("trace") / "t.jsonl"
    trace.write(path, [Program(steps, queue=name, dialect=Dialect.WIRE3, note=name)] * 2)
    programs, cut = trace.read(path)
    assert cut is None
    for program in programs:
        assert (program.queue, program.dialect, program.note) == (name, Dialect.WIRE3, name)
        for read, meant in zip(program.steps, steps, strict=True):
            octets = read.args[4] if isinstance(read.args[4], bytes) else read.args[4].encode()
            assert (read.now_us, read.call, (*read.args[:4], octets), read.answer) == (
                meant.now_us,
                meant.call,
                meant.args,
                meant.answer,
            )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "Expecting value"),
        ("[]", "not a JSON object"),
        (step(more=1), "unknown more"),
        (step(now_us=...), "missing now_us"),
        (step(now_us="1"), "now_us"),
        (step(now_us=-1), "now_us"),
        (step(call="explode"), "explode"),
        (step(call="snapshot", args=[]), "snapshot"),
        (step(args=[A]), "payload"),
        (step(args=[A, "a", 1]), "too many"),
        (step(args={"base64": "YQ=="}), "args must be a list"),
        (step(args=[A, {"base64": "%"}]), "base64|Non-base64|padding"),
        (step(args=[A, {"hex": "00"}]), "hex"),
        (step(answer={"ok": 1, "refused": ""}), "answer"),
        (step(answer=[]), "answer"),
        (step(changed=[]), "changed"),
        ('{"now_us": 1, "now_us": 1}', "twice"),
        (HEAD.replace("1,", "2,"), "version must be 1"),
        (HEAD.replace("wire4", "wire5"), "wire5"),
        (HEAD.replace('"q"', '"{q}"'), "name"),
        (HEAD.replace('"q"', "5"), "name"),
        (HEAD.replace('"trace"', '"tale"'), "tale"),
    ],
)
def test_what_it_does_not_know_is_refused_with_the_line(capsys, written, line, said):
    path = written(HEAD, step(), line)
    with pytest.raises(TraceError, match=rf"t\.jsonl:3: .*({said})"):
        trace.read(path)
    status, out, err = replay(capsys, path)
    assert (status, out) == (2, "")
    assert err.startswith(f"emqsim: {path}:3: ")


@pytest.mark.parametrize("lines", [[], [""], [step()]])
def test_a_trace_begins_with_a_head(written, lines):
    with pytest.raises(TraceError, match="head"):
        trace.read(written(*lines))


def test_binary_nonsense(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(TraceError, match=":1:"):
        trace.read(path)


def test_a_trace_that_is_cut_off_replays_up_to_there(capsys, written):
    path = written(HEAD, step(), step(args=["JOB00000000001", "b"])[:-9], end="")
    status, out, err = replay(capsys, path)
    assert status == 0
    assert "1 program, 1 step" in out
    assert f"{path}:3: cut off" in err


def test_a_last_line_without_an_end_counts(written):
    programs, cut = trace.read(written(HEAD, step(), end=""))
    assert (len(programs[0].steps), cut) == (1, None)


def test_an_answer_that_the_model_does_not_give(capsys, written):
    status, out, _ = replay(capsys, written(HEAD, step(), step()))
    assert status == 1
    assert "t.jsonl:3: step 2, enqueue" in out
    assert "{'ok': 'duplicate'}" in out


def test_a_change_that_the_model_does_not_make(capsys, written):
    status, out, _ = replay(capsys, written(HEAD, step(changed={"emq:{q}:pending": [[A, 1.0]]})))
    assert status == 1
    assert "the trace  [['JOB00000000000', 1.0]]" in out
    assert "the model  [['JOB00000000000', 0.0]]" in out


def test_arguments_that_every_queue_refuses(capsys, written):
    status, _, err = replay(capsys, written(HEAD, step(args=["nope", "a"])))
    assert status == 2
    assert "t.jsonl:2: enqueue: job_id is not a well-formed id: 'nope'" in err


def test_the_recorded_steps(capsys):
    status, out, _ = replay(capsys, RECORDED, "--server", "embedded")
    assert status == 0
    assert out.startswith("SAME: 70 programs, 5483 steps on the model and ")
    status, out, _ = replay(capsys, RECORDED, "--dialect", "wire4")
    assert status == 1
    assert "(wire4)" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.jsonl"], "missing.jsonl"),
        ([str(RECORDED), "--scripts", "x.lua"], "--server"),
        ([str(RECORDED), "--dialect", "wire6", "--server", "embedded"], "wire6"),
        ([str(RECORDED), "--server", "embedded", "--scripts", "missing.lua"], "missing.lua"),
    ],
)
def test_what_cannot_be_replayed(capsys, arguments, said):
    status, _, err = replay(capsys, *arguments)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1


def test_perform_gives_the_answers_of_a_trace():
    queue = Queue("q")
    assert trace.perform(queue, "enqueue_many", [[(A, b"\xff"), ("ORD00000000000", b"")]]) == {
        "ok": ["enqueued", {"refused": "EMQKIND job id must be JOB-namespaced"}]
    }
    assert trace.perform(queue, "claim", [10]) == {"ok": [A, {"base64": "/w=="}, 1]}
    assert trace.perform(queue, "complete", ["JOB00000000001", 1]) == {"refused": "gone"}
    queue.pause()
    assert trace.perform(queue, "obliterate", [True, 1]) == {"ok": "more"}
    assert trace.perform(queue, "obliterate", []) == {"ok": "done"}

"""The pictures: what is in them, and that they keep their colours where styles are stripped."""

import itertools
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from emqsim import JobGone, Queue, VirtualClock
from emqsim.commands.main import main
from emqsim.draw import four_sets, keyspace, lifecycle_map, map_page, stepper_page, timeline
from emqsim.draw.colours import COLOURS
from emqsim.keys import SETS
from emqsim.machine import moves
from emqsim.server import ServerQueue
from emqsim.text.moves import GONE
from emqsim.trace import Program, Step, TraceError, read, write

SVG = "{http://www.w3.org/2000/svg}"
RECORDED = "tests/data/recorded-wire3.jsonl"
NAMES = list(dict.fromkeys(move.name for _, move in moves()))


def elements(picture, tag):
    return list(ElementTree.fromstring(picture.svg).iter(f"{SVG}{tag}"))


def texts(picture):
    return [element.text for element in elements(picture, "text")]


def of_role(picture, tag, role, attribute="fill"):
    return [each for each in elements(picture, tag) if f"{attribute}-{role}" in each.get("class", "").split()]


@pytest.fixture
def queue():
    return Queue("orders", history=True)


def lapsed(queue, lease_ms=30_000):
    """A job whose lease ran out, and was given back; its id and the old token."""
    job_id = queue.clock.mint()
    queue.enqueue(job_id, "pizza")
    token = queue.claim(lease_ms).token
    queue.clock.advance(ms=lease_ms)
    queue.reap()
    return job_id, token


# The lifecycle map.


def test_the_plain_map_has_every_place_and_every_move():
    shown = " ".join(texts(lifecycle_map())).replace(",", "").split()
    assert {*SETS, GONE, *NAMES} <= {*shown}


@pytest.mark.parametrize("name", NAMES)
def test_a_lit_move_says_what_the_table_says(name):
    picture = lifecycle_map(name)
    shown = texts(picture)
    for row, move in moves():
        if move.name == name:
            assert (row.native or "script only") in shown
            assert f"{name}: {move.does}" in shown or picture.text.count(move.does) == 1
            assert sum("is left" in text for text in shown) == len(set(move.leaves) - {move.enters})
            assert shown.count("is entered") == 1
            if move.state:
                assert move.state.decode() in shown


def test_an_else_is_dashed():
    dashed = [path for path in elements(lifecycle_map("complete"), "path") if path.get("stroke-dasharray")]
    assert len(dashed) == 1
    assert "else is left" in texts(lifecycle_map("complete"))


def test_a_name_that_is_no_move():
    with pytest.raises(ValueError, match="'clam' is no move; there are enqueue, schedule, claim"):
        lifecycle_map("clam")


# The four sets.


def test_a_notebook_shows_the_picture_and_the_text(queue):
    job_id = queue.clock.mint()
    queue.enqueue(job_id, "pizza")
    bundle = queue._repr_mimebundle_()
    assert {*bundle} == {"image/svg+xml", "text/plain"}
    assert job_id in bundle["image/svg+xml"]
    assert re.search(rf"pending +{job_id}  'pizza', state pending, attempts 0", bundle["text/plain"])


def test_cards(queue):
    leased, parked, buried = (queue.clock.mint() for _ in range(3))
    for job_id in (leased, parked, buried):
        queue.enqueue(job_id, "pizza")
        queue.claim(30_000)
    queue.retry(parked, 1, 1_500, 3, "cold")
    queue.retry(buried, 1, 0, 1, "cold")
    assert {"30 s left", "due in 1.5 s"} <= {*texts(four_sets(queue))}
    queue.clock.advance(ms=1_500)
    assert {"28.5 s left", "due now"} <= {*texts(four_sets(queue))}
    queue.clock.advance(ms=86_400_000)
    assert {"lapsed 23.992 h ago", "due since 24 h"} <= {*texts(four_sets(queue))}


def test_what_is_not_as_it_should_be_is_on_the_card(queue):
    job_id, token = lapsed(queue)
    queue.extend_lock(job_id, token, 1_000)
    assert {"also in pending", "also in active"} <= {*texts(four_sets(queue))}
    queue.complete(job_id, token)
    assert "no row: a ghost" in texts(four_sets(queue))
    queue.drop_member("pending", job_id)
    queue.enqueue(job_id, "pizza")
    queue.drop_member("pending", job_id)
    assert f"in no set: {job_id}" in texts(four_sets(queue))


def test_a_long_set_shows_its_ends_and_its_count(queue):
    ids = [queue.clock.mint() for _ in range(1_000)]
    for job_id in ids:
        queue.enqueue(job_id, "x")
    shown = texts(four_sets(queue))
    assert "1000" in shown
    assert "… 992 more …" in shown
    assert [text for text in shown if text in ids] == [*ids[:4], *ids[-4:]]


def test_any_name_and_any_bytes_make_good_xml():
    queue = Queue("<&>\x00\x1b\"'", clock=VirtualClock())
    job_id = queue.clock.mint()
    queue.enqueue(job_id, b"\xff\x00<")
    assert elements(four_sets(queue), "title")[0].text.startswith("Queue <&>")
    assert (
        stepper_page(Program([Step(0, "enqueue", (job_id, b"\xff</script>"))], queue="<&>")).count(
            "</script>"
        )
        == 2
    )


# The timeline.


def test_bars_and_the_lease(queue):
    job_id, _ = lapsed(queue)
    queue.claim(10_000)
    picture = timeline(queue)
    bars = [role for role in ("pending", "active") for _ in of_role(picture, "rect", f"{role}-soft")]
    assert bars == ["pending"] * 3 + ["active"] * 3  # two of each, and the legend
    assert {"+0 ms", "+30 s", "+40 s", "token 1", "token 2", job_id} <= {*texts(picture)}


def test_a_lease_ends_at_its_deadline_and_the_bar_goes_on(queue):
    queue.enqueue(queue.clock.mint(), "x")
    queue.claim(1_000)
    queue.clock.advance(ms=5_000)
    queue.reap()
    picture = timeline(queue)
    bar, _ = of_role(picture, "rect", "active-soft")
    lease, stop, *_ = of_role(picture, "rect", "active")
    ends = [float(each.get("x")) + float(each.get("width")) for each in (bar, lease, stop)]
    assert ends[1] == ends[2] - 2 < ends[0]


def test_a_lease_that_is_given_up_ends_with_its_bar(queue):
    job_id = queue.clock.mint()
    queue.enqueue(job_id, "x")
    token = queue.claim(30_000).token
    queue.clock.advance(ms=1_000)
    queue.complete(job_id, token)
    picture = timeline(queue)
    bar, lease = of_role(picture, "rect", "active-soft")[0], of_role(picture, "rect", "active")[0]
    assert (bar.get("x"), bar.get("width")) == (lease.get("x"), lease.get("width"))
    assert "+30 s" not in texts(picture)


def test_two_sets_at_once_are_two_bars_above_each_other(queue):
    job_id, token = lapsed(queue)
    queue.extend_lock(job_id, token, 1_000)
    bars = (
        of_role(timeline(queue), "rect", "pending-soft")[:-1]
        + of_role(timeline(queue), "rect", "active-soft")[:-1]
    )
    assert len({bar.get("y") for bar in bars}) == 2


def test_a_refused_call_is_marked_with_its_reason(queue):
    job_id, token = lapsed(queue)
    queue.claim(1_000)
    with pytest.raises(Exception, match="mismatch"):
        queue.complete(job_id, token)
    queue.complete(job_id, token + 1)
    with pytest.raises(JobGone):
        queue.complete(job_id, token + 1)
    red = " ".join(element.text for element in of_role(timeline(queue), "text", "alarm"))
    assert red == "complete refused: EMQSTALE complete token mismatch complete refused: gone"


def test_a_program_a_recording_a_history_and_one_job_are_drawn_alike(queue):
    with queue.recording() as seen:
        job_id, _ = lapsed(queue)
    pictures = [timeline(each) for each in (seen, seen.program(), queue, queue.history(job_id))]
    assert len({picture.svg for picture in pictures}) == 1
    assert str(queue.history(job_id)) == pictures[0].text


def test_calls_that_concern_no_job_have_a_lane(queue):
    program = Program([Step(0, "reap", ()), Step(0, "claim", (1,)), Step(0, "pause", ())])
    assert {"the queue", "reap", "claim", "pause"} <= {*texts(timeline(program))}


def test_a_clock_that_steps_back_draws_no_bar_backwards():
    programs, _ = read(RECORDED)
    assert any(
        before.now_us > after.now_us
        for program in programs
        for before, after in itertools.pairwise(program.steps)
    )
    for program in programs[:20]:
        assert all(float(rect.get("width")) >= 0 for rect in elements(timeline(program), "rect"))


def test_no_timeline_of_nothing(queue):
    with pytest.raises(ValueError, match="nothing happened"):
        timeline(queue)
    with pytest.raises(ValueError, match="history=True"):
        timeline(Queue("orders"))
    with pytest.raises(TypeError, match="source must be"):
        timeline("orders")


# All pictures.


def everything():
    queue = Queue("orders", history=True)
    job_id, token = lapsed(queue)
    queue.extend_lock(job_id, token, 1)
    return [lifecycle_map(), *map(lifecycle_map, NAMES), four_sets(queue), timeline(queue)]


def test_colours_are_inline_and_need_no_style_sheet():
    for picture in everything():
        for element in ElementTree.fromstring(picture.svg).iter():
            assert element.tag.removeprefix(SVG) in ("svg", "title", "rect", "text", "path", "polygon")
            for role in element.get("class", "").split():
                attribute, _, name = role.partition("-")
                assert element.get(attribute) == COLOURS[name].light


def test_pictures_are_the_same_each_time():
    assert [picture.svg for picture in everything()] == [picture.svg for picture in everything()]


def linear(colour):
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(rgb):
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("words", ["ink", "muted", "alarm"])
@pytest.mark.parametrize("ground", ["paper", *(f"{place}-soft" for place in (*SETS, GONE))])
def test_words_can_be_read_on_every_ground(words, ground, scheme):
    darker, lighter = sorted(luminance(linear(getattr(COLOURS[role], scheme))) for role in (words, ground))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


BLINDNESS = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}
"""How linear RGB looks with each, after Machado, Oliveira and Fernandes (2009)."""


def lab(rgb):
    r, g, b = (min(max(channel, 0), 1) for channel in rgb)
    x, y, z = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_colours_of_the_sets_differ_for_every_eye(kind, scheme):
    seen = {}
    for place in SETS:
        rgb = linear(getattr(COLOURS[place], scheme))
        seen[place] = lab([sum(m * c for m, c in zip(row, rgb, strict=True)) for row in BLINDNESS[kind]])
    for one, other in itertools.combinations(SETS, 2):
        assert sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5 > 25, (
            one,
            other,
        )


# The keyspace as text.


def answered(client, queue):
    """What a server answers for the keys of a queue, in the manner of its command line."""
    lines = []
    for key in queue.snapshot():
        if client.type(key) == b"zset":
            command, *words = "ZRANGE", "0", "-1", "WITHSCORES"
        else:
            command, *words = ("HGETALL",)
        answer = client.execute_command(command, key, *words)
        if isinstance(answer, dict):
            answer = [each for pair in answer.items() for each in pair]
        flat = [each for part in answer for each in (part if isinstance(part, (tuple, list)) else [part])]
        lines.append(" ".join([">", command, key, *words]))
        lines += [f'{number}) "{shown(each)}"' for number, each in enumerate(flat, 1)]
    return lines


def shown(answer):
    return f"{answer:.0f}" if isinstance(answer, float) else answer.decode()


def test_the_keyspace_is_what_a_server_answers(server):
    client = server.client()
    ours, theirs = VirtualClock(), VirtualClock()
    model, real = Queue("orders", clock=ours), ServerQueue("orders", client, clock=theirs)
    for queue, clock in ((model, ours), (real, theirs)):
        for _ in range(3):
            queue.enqueue(clock.mint(), "pizza")
        queue.claim(30_000)
        job = queue.claim(30_000)
        queue.retry(job.job_id, job.token, 1_000, 3, "cold")
        queue.complete("JOB00000000000", 1)
    printed = [line.lstrip() for line in str(keyspace(model)).splitlines()]
    assert printed == answered(client, model)
    client.close()


def test_the_keyspace_of_lists_texts_and_nothing():
    queue = Queue("orders")
    assert str(keyspace(queue)) == "(empty)"
    job_id = queue.clock.mint()
    queue.enqueue(job_id, b'a "quoted" \xff\n')
    queue.add_log(job_id, "in the oven")
    queue.hold_lock(job_id)
    assert r'"a \"quoted\" \xff\n"' in str(keyspace(queue))
    assert f'> LRANGE emq:{{orders}}:job:{job_id}:logs 0 -1\n1) "in the oven"' in str(keyspace(queue))
    assert f'> GET emq:{{orders}}:job:{job_id}:lock\n"1"' in str(keyspace(queue))


# The command.


@pytest.fixture
def trace(tmp_path, queue):
    with queue.recording() as seen:
        lapsed(queue)
    seen.save(tmp_path / "t.jsonl")
    return str(tmp_path / "t.jsonl")


def test_draw_writes_each(tmp_path, trace, queue, capsys):
    for arguments, name, drawn in (
        (["map"], "map.svg", lifecycle_map().svg),
        (["map", "--move", "claim"], "claim.svg", lifecycle_map("claim").svg),
        (["map"], "map.html", map_page()),
        (["timeline", trace], "t.svg", timeline(queue).svg),
        (["stepper", trace], "t.html", stepper_page(read(trace)[0][0])),
    ):
        assert main(["draw", *arguments, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text("utf-8") == drawn + "\n"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("map -o map.png", "--output: a map is written as .svg or .html, not 'map.png'"),
        ("timeline TRACE -o t.html", "--output: a timeline is written as .svg"),
        ("stepper -o s.html", "TRACE: timeline and stepper need one"),
        ("map TRACE -o m.svg", "TRACE: timeline and stepper need one, the map has none"),
        ("map -o m.svg --move clam", "'clam' is no move"),
        ("map -o m.html --move claim", "--move: only a map that is written as .svg"),
        ("stepper TRACE -o s.html --program 2", "--program must be within 1..1, not 2"),
        ("stepper nothing.jsonl -o s.html", "nothing.jsonl"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line_and_writes_nothing(
    arguments, says, trace, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = {*tmp_path.iterdir()}
    assert main(["draw", *arguments.replace("TRACE", trace).split()]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert {*tmp_path.iterdir()} == before


def test_a_trace_that_no_queue_would_take(tmp_path):
    write(tmp_path / "t.jsonl", [Program([Step(0, "claim", (0,))])])
    with pytest.raises(TraceError, match="step 1: claim: lease_ms"):
        timeline(read(tmp_path / "t.jsonl")[0][0])


def test_a_page_holds_so_many_steps():
    with pytest.raises(ValueError, match="1 to 2000 steps, not 2001"):
        stepper_page(Program([Step(0, "reap", ())] * 2001))
    with pytest.raises(ValueError, match="not 0"):
        stepper_page(Program())


def test_nothing_is_drawn_before_it_is_asked_for():
    script = """
import sys
from emqsim import Queue
queue = Queue("orders")
repr(queue), queue.claim(1)
assert not [name for name in sys.modules if name.startswith(("emqsim.draw", "xml"))]
assert "svg" in queue._repr_mimebundle_()["image/svg+xml"]
assert not {"IPython", "jinja2", "nbformat"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

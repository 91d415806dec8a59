"""The interactive pages and the pictures, in a real browser."""

import pytest

from emqsim import Queue
from emqsim.commands.main import main
from emqsim.draw import four_sets, lifecycle_map, map_page, stepper_page, timeline
from emqsim.machine import moves
from emqsim.trace import Program, Step, read

SCHEMES = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}
"""The background of a page in each."""

NAMES = list(dict.fromkeys(move.name for _, move in moves()))

JOB = "JOB00000000000"
NOW_US = 1_704_067_200_000_000

GHOST = Program(
    [
        Step(NOW_US, "enqueue", (JOB, "<b>quattro</b> </script>")),
        Step(NOW_US, "claim", (30_000,)),
        Step(NOW_US + 31_000_000, "reap", ()),
        Step(NOW_US + 31_000_000, "extend_lock", (JOB, 1, 30_000)),
        Step(NOW_US + 31_000_000, "complete", (JOB, 1), {"ok": "something else"}),
        Step(NOW_US + 31_000_000, "complete", (JOB, 1)),
    ],
    queue="orders",
    note="a heartbeat after the reaper",
)


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens HTML as a file. Nothing may be said on the console, nothing loaded but the file itself."""
    troubles, pages = [], []

    def opened(html, scheme="light"):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page()
        pages.append(page)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: asked.url == path.as_uri() or troubles.append(asked.url))
        page.emulate_media(color_scheme=scheme)
        page.goto(path.as_uri())
        return page

    yield opened
    for page in pages:
        page.close()
    assert troubles == []


def texts(page):
    """The texts of the picture that is shown."""
    return page.evaluate(
        "[...document.querySelectorAll('svg text')].filter(t => t.checkVisibility()).map(t => t.textContent)"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_map(open_page, scheme):
    page = open_page(map_page(), scheme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == SCHEMES[scheme]
    sheet = "getComputedStyle(document.querySelector('figure:not([hidden]) rect')).fill"
    assert page.evaluate(sheet) == SCHEMES[scheme]
    assert "is left" not in texts(page)

    page.get_by_role("button", name="claim c", exact=True).click()
    shown = texts(page)
    assert {"is left", "is entered", "JOB0KHTOWnGLuC", "claim, claim2", "EMQ.CLAIM"} <= {*shown}
    assert page.get_by_role("button", pressed=True).inner_text() == "claim c"

    page.keyboard.press("a")
    assert {"reap: gives back a job whose lease lapsed", "script only"} <= {*texts(page)}
    page.keyboard.press("ArrowRight")
    assert "recover: gives back a stalled job and counts the stall" in texts(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "promote: hands over a job that fell due" in texts(page)
    page.keyboard.press("Escape")
    assert "is left" not in texts(page)


def test_every_move_has_a_button_and_a_key_of_its_own(open_page):
    page = open_page(map_page())
    keys = page.evaluate("[...document.querySelectorAll('button')].map(b => b.dataset.key)")
    assert len({*keys}) == len(keys) == len(NAMES) + 1
    for name in NAMES:
        page.locator(f"button[data-move={name}]").click()
        assert any(text.startswith(f"{name}: ") for text in texts(page))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_stepper(open_page, scheme):
    page = open_page(stepper_page(GHOST), scheme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == SCHEMES[scheme]
    assert page.locator("#call").inner_text() == "before the first call"
    assert page.get_by_role("button", name="back").is_disabled()

    page.get_by_role("button", name="next").click()
    assert page.locator("#call").inner_text() == f"enqueue('{JOB}', '<b>quattro</b> </script>')"
    assert page.locator("#answer").inner_text() == "'enqueued'"
    assert page.locator("#rows td").all_inner_texts()[:3] == [JOB, "'pending'", "'0'"]
    assert page.locator("b").count() == 0

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#when").inner_text() == "+31 s"
    assert {"also in active", "also in pending"} <= {*texts(page)}
    assert "an id is in one set at most" in page.locator("#broken").inner_text()

    page.locator("#slider").evaluate("s => { s.value = 5; s.dispatchEvent(new Event('input')) }")
    assert page.locator("#number").inner_text() == "5 of 6"
    assert "no row: a ghost" in texts(page)
    assert page.locator("#rows td").count() == 0
    assert page.locator("#otherwise").inner_text() == "the trace has: 'something else'"

    page.keyboard.press("End")
    assert page.locator("#answer").inner_text() == "refused: gone"
    assert page.get_by_role("button", name="next").is_disabled()
    page.get_by_role("button", name="back").click()
    assert page.locator("#otherwise").inner_text() != ""
    page.locator("#calls li").nth(1).click()
    assert page.locator("#number").inner_text() == "2 of 6"
    assert page.locator("li[aria-current]").inner_text().endswith("claim(30000)")
    page.keyboard.press("Home")
    assert page.locator("#number").inner_text() == "0 of 6"


def queue_of_everything():
    """A queue with long sets, ghosts, a stub row, an id in two sets and one in none."""
    queue = Queue("a queue with a name that is much too long for its place in the picture" * 2)
    ids = [queue.clock.mint() for _ in range(60)]
    for index, job_id in enumerate(ids):
        queue.enqueue(job_id, "x") if index % 2 else queue.enqueue_in(job_id, "x", 10**15 + index)
    held = queue.claim_batch(14, 10**12 + 7)
    for job in held[:2]:
        queue.retry(job.job_id, job.token, 0, 1, "x")
    queue.clock.advance(ms=1)
    queue.delay(held[2].job_id, 1, 1)
    queue.extend_lock(held[2].job_id, 1, 1)
    queue.drop_row(held[3].job_id)
    queue.extend_lock(held[0].job_id, 1, 1)
    queue.drop_member("active", held[4].job_id)
    queue.drop_member("active", held[5].job_id)
    queue.drop_member("active", held[6].job_id)
    queue.pause()
    return queue


OVERLAPS = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg')) {
    const edge = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([words, box], index) => {
      if (box.left < edge.left || box.right > edge.right || box.top < edge.top || box.bottom > edge.bottom)
        found.push(words + ' leaves the picture');
      for (const [other, against] of boxes.slice(index + 1))
        if (box.left + 1 < against.right && against.left + 1 < box.right
            && box.top + 3 < against.bottom && against.top + 3 < box.bottom)
          found.push(words + ' meets ' + other);
    });
  }
  return found;
}"""


@pytest.mark.parametrize("font", ["", "[font-family^=Helv] { font-family: 'DejaVu Sans' }"])
def test_no_text_meets_another_or_leaves_its_picture(open_page, font):
    programs, _ = read("tests/data/recorded-wire3.jsonl")
    pictures = [
        lifecycle_map(),
        *map(lifecycle_map, NAMES),
        four_sets(queue_of_everything()),
        timeline(GHOST),
    ]
    pictures += [timeline(program) for program in programs[:12]]
    page = open_page(f"<style>{font}</style>" + "".join(picture.svg for picture in pictures))
    assert page.evaluate("document.querySelectorAll('svg text').length") > 1000
    assert page.evaluate(OVERLAPS) == []


def test_the_pages_from_the_command_line(open_page, tmp_path):
    path = tmp_path / "stepper.html"
    trace = "tests/data/recorded-wire3.jsonl"
    assert main(["draw", "stepper", trace, "--program", "3", "-o", str(path)]) == 0
    page = open_page(path.read_text("utf-8"))
    page.keyboard.press("End")
    assert page.locator("#number").inner_text() == "80 of 80"

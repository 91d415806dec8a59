"""A queue's four sets as columns, its jobs as cards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from emqsim.base import BaseQueue
from emqsim.draw.svg import MONO, Picture, Sheet, fitting
from emqsim.keys import COUNTERS, SETS
from emqsim.text import queues, times

MOST = 8
"""How many cards a column has at most; a longer set shows its first and last jobs and says how many are between."""

WIDTH, COLUMN, GAP, MARGIN, TOP = 860, 193, 16, 20, 108
LINE, PADDING = 17, 9

SCORES = {
    "pending": "all of score 0",
    "active": "score: lease deadline",
    "schedule": "score: when due",
    "dead": "all of score 0",
}
"""What the score in each set means."""

Card = tuple[str, list[str], list[str]]
"""An id, what is known of the job, and what is wrong with it."""


def four_sets(queue: BaseQueue, *, lit: Collection[str] = ()) -> Picture:
    """The sets of a queue with their jobs, under its name and its clock; the jobs in `lit` have a thick border.

    A card has the id and the attempts, for a lease or a schedule the time left, and what is not as it
    should be: no row, no payload, an id that is in another set too.
    """
    now_ms = queue._now_us() // 1000
    members = {which: queue._set(which) for which in SETS}
    homes: dict[str, list[str]] = {}
    for which in SETS:
        for job_id, _ in members[which]:
            homes.setdefault(job_id, []).append(which)
    columns = {
        which: [
            _card(job_id, which, score - now_ms, queue.get_job(job_id), homes[job_id])
            for job_id, score in _ends(members[which])
        ]
        for which in SETS
    }
    height = max(_height(columns[which], len(members[which])) for which in SETS)
    sheet = Sheet(WIDTH, TOP + height + 44, f"Queue {queue.name}")
    _head(sheet, queue, now_ms)
    for index, which in enumerate(SETS):
        _column(sheet, MARGIN + index * (COLUMN + GAP), which, columns[which], len(members[which]), lit)
    _foot(sheet, queue, TOP + height + 26, homes)
    return sheet.picture(queues.queue(queue))


def _ends(members: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    """All of a set, or the first and the last of a long one."""
    half = MOST // 2
    return members if len(members) <= MOST else [*members[:half], *members[-half:]]


def _card(
    job_id: str, which: str, ahead_ms: float, row: Mapping[str, bytes] | None, homes: Collection[str]
) -> Card:
    known, wrong = [], []
    if row is None:
        wrong.append("no row: a ghost")
    else:
        known.append(f"attempts {row.get('attempts', b'none').decode(errors='replace')}")
        if "payload" not in row:
            wrong.append("no payload: a stub row")
    if which == "active":
        known.append(_ahead("{} left", "lapsed {} ago", "lapsed just now", ahead_ms))
    if which == "schedule":
        known.append(_ahead("due in {}", "due since {}", "due now", ahead_ms))
    wrong += [f"also in {other}" for other in homes if other != which]
    return job_id, known, wrong


def _ahead(ahead: str, behind: str, now: str, ms: float) -> str:
    return now if ms == 0 else (ahead if ms > 0 else behind).format(duration(abs(ms)))


_UNITS = (
    (1.0, 1_000.0, "ms"),
    (1_000.0, 600_000.0, "s"),
    (3_600_000.0, 259_200_000.0, "h"),
    (86_400_000.0, float("inf"), "days"),
)
"""Each unit of time: how many ms it has, and below which it is used."""


def duration(ms: float) -> str:
    """Milliseconds as people read them: `250 ms`, `1.5 s`, `24 h`, `12 days`."""
    size, name = next((size, name) for size, below, name in _UNITS if ms < below)
    return f"{ms / size:.3f}".rstrip("0").rstrip(".") + f" {name}"


def since(us: int) -> str:
    """Microseconds since the first call: `+250 ms`, `-1.5 s`."""
    whole = duration(abs(us) / 1000) if us % 1000 == 0 or abs(us) >= 1000 else f"{abs(us)} µs"
    return f"{'-' if us < 0 else '+'}{whole}"


def _height(cards: Sequence[Card], size: int) -> float:
    return sum(_card_height(card) + 8 for card in cards) + (26 if size > MOST else 0)


def _card_height(card: Card) -> float:
    _, known, wrong = card
    return LINE * (1 + len(known) + len(wrong)) + 2 * PADDING - 3


def _head(sheet: Sheet, queue: BaseQueue, now_ms: int) -> None:
    name = fitting(queue.name, 330, 16)
    sheet.text(MARGIN, 30, name, size=16, bold=True)
    sheet.text(WIDTH - MARGIN, 30, times.moment(now_ms), size=12, font=MONO, anchor="end")
    sheet.text(
        MARGIN, 48, f"{queue.dialect}{', paused: no claims' if queue.paused else ''}", size=12, fill="muted"
    )


def _column(
    sheet: Sheet, x: float, which: str, cards: Sequence[Card], size: int, lit: Collection[str]
) -> None:
    sheet.box(x, 60, COLUMN, 38, fill=f"{which}-soft", stroke=which, radius=6, thick=2)
    sheet.text(x + 10, 84, which, size=15, bold=True)
    sheet.text(x + COLUMN - 10, 77, str(size), size=14, bold=True, anchor="end")
    sheet.text(x + COLUMN - 10, 91, SCORES[which], size=10, fill="muted", anchor="end")
    y: float = TOP
    for index, card in enumerate(cards):
        if size > MOST and index == MOST // 2:
            sheet.text(
                x + COLUMN / 2, y + 14, f"… {size - MOST} more …", size=12, fill="muted", anchor="middle"
            )
            y += 26
        job_id, known, wrong = card
        height = _card_height(card)
        sheet.box(
            x,
            y,
            COLUMN,
            height,
            fill=f"{which}-soft",
            stroke=which,
            radius=6,
            thick=3.5 if job_id in lit else 1,
            dashed=bool(wrong),
        )
        base = y + PADDING + 11
        sheet.text(x + 10, base, job_id, size=13, font=MONO, bold=True)
        for words in known:
            base += LINE
            sheet.text(x + 10, base, fitting(words, COLUMN - 20, 12), size=12)
        for words in wrong:
            base += LINE
            sheet.text(x + 10, base, words, size=12, fill="alarm", bold=True)
        y += height + 8


def _foot(sheet: Sheet, queue: BaseQueue, y: float, homes: Mapping[str, Collection[str]]) -> None:
    """The counters, and rows that no set holds."""
    counts = ", ".join(f"{which} {queue.get_metrics(which)}" for which in COUNTERS)
    sheet.text(MARGIN, y, counts, size=12, fill="muted")
    homeless = [job_id for job_id in queue.rows if job_id not in homes]
    if homeless:
        words = f"in no set: {', '.join(homeless[:2])}"
        if len(homeless) > 2:
            words += f" and {len(homeless) - 2} more"
        sheet.text(WIDTH - MARGIN, y, words, size=12, fill="alarm", bold=True, anchor="end")

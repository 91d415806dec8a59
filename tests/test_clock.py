"""The virtual clock: whole microseconds that only the caller moves."""

import pytest

from emqsim import VirtualClock

EPOCH_MS = 1_704_067_200_000


def test_it_starts_in_2024_and_stays_there():
    clock = VirtualClock()
    assert (clock.now_ms, clock.now_us) == (EPOCH_MS, EPOCH_MS * 1000)
    assert clock.time() == (EPOCH_MS // 1000, 0)


def test_milliseconds_are_floored():
    clock = VirtualClock(now_us=EPOCH_MS * 1000 + 1999)
    assert clock.now_ms == EPOCH_MS + 1
    assert clock.time() == (EPOCH_MS // 1000, 1999)


def test_advance_and_set():
    clock = VirtualClock(now_ms=EPOCH_MS)
    clock.advance(ms=2, us=1)
    assert clock.now_us == EPOCH_MS * 1000 + 2001
    clock.set(now_ms=EPOCH_MS - 5)
    assert clock.now_ms == EPOCH_MS - 5


@pytest.mark.parametrize(
    ("move", "error", "named"),
    [
        (lambda c: c.advance(ms=-1), ValueError, "ms .*-1"),
        (lambda c: c.advance(us=-1), ValueError, "us .*-1"),
        (lambda c: c.advance(ms=1.5), TypeError, "ms .*1.5"),
        (lambda c: c.advance(ms=True), TypeError, "ms .*True"),
        (lambda c: c.advance(ms=2**63 - 1), ValueError, "past"),
        (lambda c: c.set(), TypeError, "now_ms"),
        (lambda c: c.set(now_ms=1, now_us=1), TypeError, "now_us"),
        (lambda c: c.set(now_ms=-1), ValueError, "now_ms .*-1"),
        (lambda c: c.set(now_us="1"), TypeError, "now_us"),
    ],
)
def test_a_bad_move_names_the_argument_and_moves_nothing(move, error, named):
    clock = VirtualClock()
    with pytest.raises(error, match=named):
        move(clock)
    assert clock.now_ms == EPOCH_MS


def test_a_copy_goes_its_own_way_and_mints_the_same():
    clock = VirtualClock(node=3)
    clock.mint()
    twin = clock.copy()
    assert twin.mint() == clock.mint()
    twin.advance(ms=1)
    assert clock.now_ms == EPOCH_MS

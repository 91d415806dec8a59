"""Branded ids, their minting, and the keys and slots of a queue."""

from binascii import crc_hqx

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emqsim import InvalidJobId, Queue, VirtualClock, ids
from emqsim.keys import Keys, slot

EPOCH_MS = 1_704_067_200_000


@pytest.mark.parametrize(
    ("text", "snowflake"), [("USR0KHTOWnGLuC", 274557032793636864), ("USR0NgWEfAEJfs", 320636799581945856)]
)
def test_vectors(text, snowflake):
    assert ids.decode(text) == ("USR", snowflake)
    assert ids.encode("USR", snowflake) == text


@pytest.mark.parametrize(
    "text",
    ["", "JOB", "USRzzzzzzzzzzz", "JOBAzL8n0Y58m8", "JOB0000000000", "JOB000000000000", "job00000000000"]
    + ["JOB0000000000-", "JOB0000000000\n", "JÖB00000000000", "JOB0000000000é", "JOB0000000000٣"],
)
def test_what_is_no_id(text):
    assert not ids.is_id(text)
    with pytest.raises(InvalidJobId, match="job_id"):
        Queue("q").enqueue(text, b"")


def test_the_largest_id():
    assert ids.encode("JOB", 2**63 - 1) == "JOBAzL8n0Y58m7"
    assert ids.is_id("JOBAzL8n0Y58m7")


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_ids_sort_as_their_snowflakes(one, other):
    assert (ids.encode("JOB", one) < ids.encode("JOB", other)) == (one < other)
    assert ids.decode(ids.encode("JOB", one)) == ("JOB", one)


@pytest.mark.parametrize("namespace", ["", "JO", "JOBS", "job", "J0B", "ÄÖÜ"])
def test_a_namespace_is_three_letters(namespace):
    with pytest.raises(ValueError, match="namespace"):
        VirtualClock().mint(namespace)


def test_one_cell_mints_for_all_namespaces():
    clock = VirtualClock()
    assert [clock.mint(), clock.mint("PRT"), clock.mint()] == [
        "JOB00000000000",
        "PRT00000000001",
        "JOB00000000002",
    ]


def test_a_burst_borrows_from_the_next_millisecond():
    clock = VirtualClock()
    minted = [clock.mint() for _ in range(4097)]
    assert len(set(minted)) == 4097
    assert ids.minted_ms(minted[4095]) == EPOCH_MS
    assert ids.minted_ms(minted[4096]) == EPOCH_MS + 1
    clock.advance(ms=1)
    assert clock.mint() > minted[-1]


def test_a_clock_that_steps_back_keeps_minting_upwards():
    clock = VirtualClock(now_ms=EPOCH_MS + 1000)
    first = clock.mint()
    clock.set(now_ms=EPOCH_MS)
    assert clock.mint() > first


def test_the_node_is_in_the_id():
    _, snowflake = ids.decode(VirtualClock(now_ms=EPOCH_MS + 5, node=1023).mint())
    assert snowflake == 5 << 22 | 1023 << 12
    with pytest.raises(ValueError, match=r"node .*1024"):
        VirtualClock(node=1024)


def test_no_id_past_the_last_snowflake():
    clock = VirtualClock(now_ms=EPOCH_MS + 2**41 - 1)
    assert ids.is_id(clock.mint())
    clock.advance(ms=1)
    with pytest.raises(ValueError, match="past the last"):
        clock.mint()


@pytest.mark.parametrize(("key", "tag"), [("a{b}c", "b"), ("{a}{b}", "a"), ("}a{b}", "b"), ("{{b}}", "{b")])
def test_the_slot_is_that_of_the_first_hash_tag(key, tag):
    assert slot(key) == slot(tag) == slot(key.encode())


@pytest.mark.parametrize("key", ["{}b", "a{b", "a}b", ""])
def test_without_a_hash_tag_the_whole_key_counts(key):
    assert slot(key) == crc_hqx(key.encode(), 0) % 16384


def test_slot_vectors():
    assert slot("123456789") == 12739
    assert slot("foo{bar}baz") == slot("bar")
    assert slot("{}foo") != slot("foo")


def test_all_keys_of_a_queue_share_a_slot():
    keys = Keys("orders")
    names = [
        keys.pending,
        keys.job("JOB00000000000"),
        keys.logs("JOB00000000000"),
        keys.de("x{y}"),
        keys.meta,
    ]
    assert {slot(name) for name in names} == {slot("orders")}


@pytest.mark.parametrize("name", ["", "a{b", "a}b", "{q}"])
def test_the_name_of_a_queue(name):
    with pytest.raises(ValueError, match="name"):
        Queue(name)


def test_key_names():
    queue, job_id = Queue("q"), "JOB00000000001"
    assert queue.key("pending") == "emq:{q}:pending"
    assert queue.key("job", job_id) == "emq:{q}:job:JOB00000000001"
    assert queue.key("lock", job_id) == "emq:{q}:job:JOB00000000001:lock"
    assert queue.key("logs", job_id) == "emq:{q}:job:JOB00000000001:logs"
    assert queue.key("metrics", "failed") == "emq:{q}:metrics:failed"
    assert queue.key("de", "once") == "emq:{q}:de:once"
    assert queue.key("events") == "emq:{q}:events"


@pytest.mark.parametrize(
    ("words", "error", "named"),
    [
        (("nothing",), ValueError, "nothing"),
        (("job",), TypeError, "job"),
        (("pending", "x"), TypeError, "pending"),
        (("job", "no id"), InvalidJobId, "no id"),
        (("metrics", "lost"), ValueError, "lost"),
    ],
)
def test_key_refuses_what_is_no_key(words, error, named):
    with pytest.raises(error, match=named):
        Queue("q").key(*words)

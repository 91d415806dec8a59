"""The sorted set against the plainest possible one."""

from hypothesis import given
from hypothesis import strategies as st

from emqsim.zset import SortedSet

members = st.sampled_from(["a", "b", "B", "0", "ab", ""])
scores = st.sampled_from([0.0, -1.0, 1.5, 2.0**60, 1e300, -0.0])
writes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), members, scores),
        st.tuples(st.just("remove"), members),
        st.tuples(st.just("pop_min")),
        st.tuples(st.just("pop_due"), scores, st.integers(1, 3)),
    )
)


@given(writes, st.integers(1, 7), scores)
def test_it_does_what_a_dict_sorted_anew_each_time_does(program, limit, now):
    real, plain = SortedSet(), {}
    for name, *args in program:
        if name == "add":
            real.add(*args)
            plain[args[0]] = args[1]
        elif name == "remove":
            assert real.remove(args[0]) == (plain.pop(args[0], None) is not None)
        elif name == "pop_due":
            now_then, most = args
            lapsed = sorted((score, member.encode()) for member, score in plain.items() if score <= now_then)
            names = [member.decode() for _, member in lapsed[:most]]
            assert real.pop_due(now_then, most) == names
            plain = {member: score for member, score in plain.items() if member not in names}
        elif plain:
            lowest = min(plain, key=lambda member: (plain[member], member.encode()))
            assert real.pop_min() == lowest
            del plain[lowest]
        ordered = sorted(plain.items(), key=lambda pair: (pair[1], pair[0].encode()))
        assert real.items() == ordered
        assert len(real) == len(plain)
        assert real.first(limit) == [member for member, _ in ordered][:limit]
        assert real.due(now, limit) == [member for member, score in ordered if score <= now][:limit]
        assert real.newest(limit) == [member for member, _ in ordered][::-1][:limit]
        assert all(
            (member in real) == (member in plain) and real.score(member) == plain.get(member)
            for member in "ab"
        )
    twin = real.copy()
    twin.clear()
    assert real.items() == sorted(plain.items(), key=lambda pair: (pair[1], pair[0].encode()))
    assert not twin.items()

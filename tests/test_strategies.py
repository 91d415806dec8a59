"""The Hypothesis strategies: what they give, what they reach, and what their examples shrink to."""

import re

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.stateful import invariant, rule

from emqsim import Claimed, Queue, VirtualClock
from emqsim.ids import is_id
from emqsim.strategies import QueueMachine, clocks, job_ids, payloads, programs, queues
from emqsim.trace import CALLS, perform, read, write

TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)


def found(strategy, condition=lambda example: True):
    steady = settings(
        max_examples=3_000,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
    )
    return find(strategy, condition, settings=steady)


@given(job_ids(), job_ids("ORD"), payloads(), clocks())
def test_every_example_can_be_used(job_id, foreign, payload, clock):
    assert is_id(job_id)
    assert foreign.startswith("ORD")
    queue = Queue("q", clock=clock)
    queue.enqueue(job_id, payload)
    assert queue.claim(1) == Claimed(job_id, payload, 1)


@given(programs(max_steps=12))
def test_programs_run_and_are_traces(tmp_path_factory, program):
    assert len(program.steps) <= 12
    queue = Queue(program.queue)
    for step in program.steps:
        queue.clock.set(now_us=step.now_us)
        step.answer = perform(queue, step.call, step.args)
        assert "error" not in step.answer
    path = tmp_path_factory.getbasetemp() / "program.jsonl"
    write(path, [program])
    ((again,), _) = read(path)
    assert [step.call for step in again.steps] == [step.call for step in program.steps]


def test_examples_shrink_to_the_simplest():
    assert found(job_ids()) == "JOB00000000000"
    assert found(payloads()) == b""
    assert found(clocks()).now_us == VirtualClock().now_us
    assert found(programs()).steps == []
    assert found(queues()) == Queue("q")


def test_queues_reach_the_morgue_in_three_calls():
    queue = found(queues(max_steps=10), lambda queue: queue.dead)
    ((job_id, _),) = queue.dead
    assert len(queue.history(job_id)) == 3


def test_queues_with_faults_reach_broken_invariants():
    reached = set()

    @settings(max_examples=300, database=None, deadline=None, derandomize=True)
    @given(queues(faults=True))
    def look(queue):
        reached.update(violation.name for violation in queue.violations())

    look()
    assert reached >= {"ghost"}


@pytest.mark.parametrize("call", ["extend_locks", "drop_row"])
def test_programs_reach_calls(call):
    program = found(programs(max_steps=10), lambda program: call in [step.call for step in program.steps])
    assert [step.call for step in program.steps] == [call]
    assert call in CALLS


def test_programs_without_faults_have_none():
    @given(programs(faults=False))
    def check(program):
        assert not {"drop_row", "drop_member", "hold_lock"} & {step.call for step in program.steps}

    check()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: job_ids("jobs"), "namespace must be three letters A-Z, not 'jobs'"),
        (lambda: programs(dialect="wire5"), "'wire5' is not a valid Dialect"),
        (lambda: programs(max_steps=0), "max_steps must be within"),
    ],
)
def test_a_bad_argument_is_named(call, told):
    with pytest.raises(ValueError, match=told):
        call()


class Leased(QueueMachine):
    """A system in which no job may be leased: one is, and the shortest way there is found."""

    @rule(job_id=QueueMachine.jobs)
    def look(self, job_id):
        assert self.queue.history(job_id)

    @invariant()
    def nothing_is_leased(self):
        assert not self.queue.active


Leased.TestCase.settings = settings(
    max_examples=500,
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def test_a_machine_with_rules_of_its_own_finds_the_shortest_way():
    with pytest.raises(AssertionError) as caught:
        Leased.TestCase().runTest()
    told = "\n".join(caught.value.__notes__)
    steps = re.findall(r"state\.(\w+)\(", told)
    assert [step for step in steps if step not in ("nothing_is_leased", "teardown")] == ["enqueue", "claim"]
    assert "state.enqueue(payload=b'')" in told

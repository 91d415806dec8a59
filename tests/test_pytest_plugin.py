"""The pytest plugin, as a project that uses it sees it: a test run in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emqsim.server import embedded_server

pytest_plugins = ["pytester"]

ALONE = ("-p", "no:hypothesispytest", "-p", "no:valkey")
"""Without the plugins of others, which take longer to load than a test run of ours."""

CONSUMER_TESTS = Path(__file__).with_name("test_consumer.py")


@pytest.fixture
def run(pytester, monkeypatch):
    """Run the tests of the project, as on a developer's machine: where CI is set, pytest's summary is longer."""
    monkeypatch.delenv("CI", raising=False)

    def run(*options):
        return pytester.runpytest(*ALONE, *options)

    return run


@pytest.fixture(params=["model", "url"])
def where(request):
    """The option that says where the queues are."""
    return "model" if request.param == "model" else request.getfixturevalue("valkey_server").url


FIXTURES = """
    def test_fresh(emq_clock, emq_queue, emq_queue_factory, emq_consumer):
        assert emq_clock.now_ms == 1704067200000
        assert emq_queue.snapshot() == {}
        other = emq_queue_factory("other")
        assert emq_queue.clock is emq_clock
        assert other.clock is emq_clock
        assert other.key("pending") != emq_queue.key("pending")
        job_id = emq_clock.mint()
        other.enqueue(job_id, "x")
        emq_queue.enqueue(job_id, "y")
        seen = []
        emq_consumer(lambda job, handle: seen.append(job.payload), lease_ms=5).beat()
        assert seen == [b"y"]
        assert [event.call for event in emq_queue.history(job_id)] == ["enqueue", "claim", "complete"]
        assert other.snapshot() == {
            other.key("pending"): [(job_id, 0.0)],
            other.key("job", job_id): {"state": b"pending", "attempts": b"0", "payload": b"x"},
        }

    def test_fresh_again(emq_queue):
        assert emq_queue.snapshot() == {}
        emq_queue.pause()
"""


def test_the_fixtures_are_there_and_fresh(pytester, run, where):
    pytester.makepyfile(FIXTURES)
    run(f"--emqsim-server={where}").assert_outcomes(passed=2)


def test_nothing_is_left_on_a_server_and_what_was_there_stays(pytester, run, valkey_server):
    client = valkey_server.client()
    client.flushall()
    client.set("mine", "1")
    pytester.makepyfile(
        FIXTURES
        + """
    def test_name(emq_queue):
        emq_queue.pause()
        assert emq_queue.name.startswith("emqsim-")
        assert emq_queue.name.endswith("-queue")
        raise RuntimeError
"""
    )
    run(f"--emqsim-server={valkey_server.url}").assert_outcomes(passed=2, failed=1)
    assert client.keys("*") == [b"mine"]
    client.delete("mine")
    client.close()


def test_the_consumer_tests_pass_on_a_server_too(pytester, run, valkey_server):
    pytester.makepyfile(test_consumer_on_a_server=CONSUMER_TESTS.read_text("utf-8"))
    outcomes = run(f"--emqsim-server={valkey_server.url}").parseoutcomes()
    assert outcomes.keys() == {"passed"}
    assert outcomes["passed"] > 40


def test_the_marker_skips_and_sets(pytester, run, where):
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.emqsim(now_ms=5, dialect="wire3")

        @pytest.mark.emqsim(only="model")
        def test_model(emq_queue):
            assert type(emq_queue).__name__ == "Queue"

        @pytest.mark.emqsim(only="server")
        def test_server(emq_queue):
            assert type(emq_queue).__name__ == "ServerQueue"

        @pytest.mark.emqsim(now_ms=7)
        def test_closest(emq_clock, emq_queue, emq_queue_factory):
            assert emq_clock.now_ms == 7
            assert emq_queue.dialect == "wire3"
            assert emq_queue_factory("other", dialect="wire4").dialect == "wire4"
        """
    )
    result = run(f"--emqsim-server={where}", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED*only for {'a server' if where == 'model' else 'the model'}*"])


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("lease=5", "unknown option lease=5; there are only, dialect, now_ms"),
        ("only='redis'", "only must be one of model, server, not 'redis'"),
        ("dialect='wire5'", "dialect must be one of wire3, wire4, wire6, not 'wire5'"),
        ("now_ms=-1", "now_ms must be within 0..*, not -1"),
        ("'model'", "options are given by name (only, dialect, now_ms), not ('model',)"),
    ],
)
def test_a_bad_option_is_one_line(pytester, run, marker, told):
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.emqsim({marker})
        def test_it(emq_queue):
            pass
        """
    )
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *::test_it: mark emqsim: {told}".replace("[", "[[]")])


def test_an_unknown_place_is_one_line(run):
    result = run("--emqsim-server=redis")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --emqsim-server must be model, embedded or a URL (redis://, *), not 'redis'"]
    )


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "unix:///nowhere/s", "redis://127.0.0.1:port/0"])
def test_a_url_that_does_not_answer_is_one_line(pytester, run, url):
    pytester.makepyfile(FIXTURES)
    result = run(f"--emqsim-server={url}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith(f"ERROR: --emqsim-server={url}: ")


def test_no_server_is_started_for_tests_that_need_none(pytester, run):
    pytester.makepyfile("def test_nothing(emq_clock): pass")
    run("--emqsim-server=redis://127.0.0.1:1/0").assert_outcomes(passed=1)


def test_a_fixture_that_is_asked_for_by_name_is_on_the_server_too(pytester, run, valkey_server):
    pytester.makepyfile(
        """
        def test_it(request):
            assert type(request.getfixturevalue("emq_queue")).__name__ == "ServerQueue"
        """
    )
    run(f"--emqsim-server={valkey_server.url}").assert_outcomes(passed=1)


def test_a_name_is_taken_once(pytester, run):
    pytester.makepyfile("def test_it(emq_queue, emq_queue_factory): emq_queue_factory('queue')")
    result = run()
    result.stdout.fnmatch_lines(["E*ValueError: name 'queue' is taken: this test has a queue of that name"])


def test_a_failed_assertion_shows_the_queue_and_the_jobs_it_names(pytester, run, where):
    pytester.makepyfile(
        """
        from emqsim.testing import assert_job

        def test_it(emq_clock, emq_queue):
            first, second = emq_clock.mint(), emq_clock.mint()
            emq_queue.enqueue(first, "a")
            emq_queue.enqueue_in(second, "b", 500)
            assert_job(emq_queue, second, state="pending")
        """
    )
    result = run(f"--emqsim-server={where}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*assert_job(emq_queue, second, state=*pending*)",
            "E*AssertionError: JOB00000000001 in <*>: state is 'scheduled', not 'pending'",
            "E*JOB00000000001 from *",
            "E*  +0.000 s  enqueue_in payload='b' delay_ms=500: scheduled  into schedule; due at +0.500 s",
            "*-- emqsim queue *queue --*",
            "  now        2024-01-01 00:00:00.000 UTC (1704067200000 ms)",
            "  pending    JOB00000000000  'a', state pending, attempts 0",
            "  scheduled  JOB00000000001  'b', state scheduled, attempts 0, due in 0.500 s",
        ]
    )
    result.stdout.no_fnmatch_line("JOB0000000000* from *")


def test_queues_that_the_test_made_itself_are_shown_too(pytester, run):
    pytester.makepyfile(
        """
        from emqsim import Queue

        def test_it():
            own = Queue("own")
            assert own.pending_size() == 1
        """
    )
    result = run()
    result.stdout.fnmatch_lines(
        [
            "E*where pending_size = <Queue 'own' wire4 at 1704067200000 ms: pending=0, *>.pending_size",
            "*-- emqsim queue own --*",
            "no timelines: the queue was not made with history=True",
        ]
    )


def test_a_refusal_is_shown_at_the_call(pytester, run):
    pytester.makepyfile("def test_it(emq_clock, emq_queue): emq_queue.complete(emq_clock.mint(), 1)")
    run().stdout.no_fnmatch_line("*machine.py*")
    run("--full-trace").stdout.fnmatch_lines(["*machine.py*"])


def test_a_comparison_shows_only_what_differs(pytester, run):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def pair(emq_queue, emq_clock):
            same, other = emq_clock.mint(), emq_clock.mint()
            emq_queue.enqueue(same, "same")
            emq_queue.enqueue(other, "before")
            twin = emq_queue.copy()
            twin.update_data(other, "after")
            twin.clock.advance(ms=1)
            return emq_queue, twin

        def test_queues(pair):
            assert pair[0] == pair[1]

        def test_snapshots(pair):
            assert pair[0].snapshot() == pair[1].snapshot()
        """
    )
    result = run()
    result.assert_outcomes(failed=2)
    shown = [line.strip("E ") for line in result.outlines if line.startswith("E ")]
    differing = [
        "emq:{queue}:job:JOB00000000001:",
        "- payload = 'before'",
        "+ payload = 'after'",
    ]
    assert shown == [
        "AssertionError: assert queues differ (- left, + right)",
        "clock: 1704067200000000 != 1704067200001000",
        *differing,
        "AssertionError: assert snapshots differ (- left, + right)",
        *differing,
    ]


def test_a_server_that_is_gone_does_not_hide_the_failure(pytester, run):
    with embedded_server() as own:
        pytester.makepyfile(
            """
            import pytest
            from emqsim.server import OutcomeUnknown

            def test_it(emq_queue):
                with pytest.raises(OutcomeUnknown):
                    emq_queue._connection.call("SHUTDOWN", "NOSAVE")
                raise RuntimeError("the real reason")
            """
        )
        result = run(f"--emqsim-server={own.url}")
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["E*RuntimeError: the real reason", "<ServerQueue *> cannot be read: *"])


WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
import pytest
sys.exit(pytest.main({arguments}))
"""


def run_without(missing, arguments, folder):
    """A test run in a process in which some packages are not there."""
    code = WITHOUT.format(missing=set(missing), arguments=list(arguments))
    ours = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ.get("PATH", "")}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=ours, capture_output=True, text=True, timeout=60
    )


def test_the_plugin_needs_neither_hypothesis_nor_a_client(tmp_path):
    tmp_path.joinpath("test_it.py").write_text(
        """
import sys

def test_it(emq_queue, emq_clock):
    assert emq_queue.enqueue(emq_clock.mint(), "x") == "enqueued"
    assert not {"valkey", "redis", "hypothesis", "emqsim.server", "emqsim.draw"} & set(sys.modules)
"""
    )
    done = run_without(["hypothesis", "valkey", "redis"], ALONE, tmp_path)
    assert "1 passed" in done.stdout, done.stderr
    done = run_without(["valkey", "redis"], (*ALONE, "--emqsim-server=embedded"), tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert (
        "ERROR: --emqsim-server=embedded: a client library (valkey or redis) is not installed" in done.stderr
    )


def test_strategies_name_the_extra_they_need(tmp_path):
    code = "import sys; sys.modules['hypothesis'] = None\nimport emqsim.strategies"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1].endswith("hypothesis is not installed: pip install 'emqsim[check]'")

"""The README's section "Test your worker" is run: its files, its tests, and the failure it shows."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ALONE = ("-p", "no:hypothesispytest", "-p", "no:valkey")
"""Without the plugins of others, which take longer to load than a test run of ours."""

README = Path(__file__).parent.parent.joinpath("README.md").read_text("utf-8")
SECTION = README.partition("\n## Test your worker\n")[2].partition("\n## ")[0]
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", SECTION, re.DOTALL))
FAILURE = re.search(r"```text\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def project(pytester):
    for name in ("kitchen.py", "test_kitchen.py"):
        pytester.path.joinpath(name).write_text(FILES[name], "utf-8")
    pytester.syspathinsert()
    return pytester


def test_the_worker_has_twenty_lines():
    code = [line for line in FILES["kitchen.py"].splitlines() if line.strip()]
    assert len(code) <= 20


def test_the_worker_on_the_model(project):
    project.runpytest(*ALONE).assert_outcomes(passed=4)


def test_the_worker_on_the_embedded_server(project):
    project.runpytest(*ALONE, "--emqsim-server=embedded").assert_outcomes(passed=4)


def test_the_worker_on_redis_by_url(project, redis_server):
    assert redis_server.version.startswith("Redis")
    project.runpytest(*ALONE, f"--emqsim-server={redis_server.url}").assert_outcomes(passed=4)


def test_the_failure_is_shown_as_the_readme_has_it(pytester):
    pytester.path.joinpath("test_incident.py").write_text(FILES["test_incident.py"], "utf-8")
    result = pytester.runpytest(*ALONE)
    result.assert_outcomes(failed=1)
    shown = "\n".join(line.rstrip() for line in result.outlines)
    head, _, story = FAILURE[1].partition("---")
    assert head in shown
    assert story in shown

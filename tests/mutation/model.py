"""Faulty models: mutants of the Python source, and which tests without a server catch each.

    python -m tests.mutation.model

First the recorded traces are replayed on the mutant; what they let pass goes to the tests of the model. A mutant runs
in a process of its own, in which its source stands in the place of the real one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from .survivors import MODEL_REASONS, reason

ROOT = Path(__file__).parents[2]
TRACES = sorted((ROOT / "tests" / "data").glob("recorded-*.jsonl"))
TESTS = {"machine": ("table", "machine", "hazards", "draw"), "zset": ("zset", "machine")}
"""The modules of the model, and for each the files of tests that are asked."""
WITHOUT_SERVER = "not real_scripts and not a_server_answers"
RESULTS = Path(__file__).with_name("model_results.json")
FAULTY = str(Path(__file__).with_name("faulty.py"))
PLUGINS = ("cacheprovider", "hypothesispytest", "xdist", "valkey", "playwright")
"""Of pytest, that take long to start."""
HANGS_AFTER_S = 120


Place = tuple[tuple[str, int | None], ...]
"""The way from the root of a tree to a node: fields, with an index where they are lists."""


class ModelMutant(NamedTuple):
    """A faulty module of the model: another node at one place."""

    module: str
    name: str
    """What tells it from all others, with the function and not the line, since lines move."""
    place: Place
    node: ast.AST

    def source(self) -> str:
        """The whole module."""
        tree = _parsed(self.module)
        if self.place:
            _put(tree, self.place, self.node)
        return ast.unparse(tree)


def _parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / "emqsim" / f"{module}.py").read_text("utf-8"))


def model_mutants() -> list[ModelMutant]:
    """Every mutant of the modules of the model; two that read the same are one."""
    found: dict[tuple[str, str], ModelMutant] = {}
    named: Counter[str] = Counter()
    for module in TESTS:
        tree = _parsed(module)
        for place, node in list(_code(tree)):
            statement = _at(tree, place[:1])
            original = ast.unparse(statement)
            for operator, new in _changed(node):
                _put(tree, place, new)
                text = ast.unparse(_at(tree, place[:1]))
                if text != original and (module, text) not in found:
                    scope = ".".join([module, *_scope(tree, place)])
                    name = f"{scope} {operator}: {_text(node)} -> {_text(new)}"
                    named[name] += 1
                    if named[name] > 1:
                        name += f" #{named[name]}"
                    found[module, text] = ModelMutant(module, name, place, new)
                _put(tree, place, node)
    return list(found.values())


def _scope(tree: ast.AST, place: Place) -> Iterator[str]:
    """Names of the classes and functions around a place."""
    for end in range(1, len(place)):
        name = getattr(_at(tree, place[:end]), "name", None)
        if name:
            yield name


def _at(tree: ast.AST, place: Place) -> Any:
    node: Any = tree
    for field, index in place:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    return node


def _put(tree: ast.AST, place: Place, new: ast.AST) -> None:
    field, index = place[-1]
    parent = _at(tree, place[:-1])
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def _code(tree: ast.AST, path: Place = (), inside: bool = False) -> Iterator[tuple[Place, ast.AST]]:
    """Every node of the code that a model runs: the bodies of functions, and the moves and refusals of the table."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or _is_docstring(node) or _is_of_the_server(node):
                continue
            here = (*path, (field, index))
            counts = inside or (isinstance(tree, ast.FunctionDef) and field == "body")
            if isinstance(node, ast.keyword) and not inside:
                counts = node.arg in ("moves", "refusals")
            if counts and hasattr(node, "lineno"):
                yield here, node
            yield from _code(node, here, counts)


def _is_of_the_server(node: ast.AST) -> bool:
    """Whether a node says how a server's answers read, which the model never does."""
    readers = isinstance(node, ast.FunctionDef) and node.name in ("_job", "_counter", "_present")
    return readers or (isinstance(node, ast.keyword) and node.arg == "reply")


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _text(node: ast.AST) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return text if len(text) < 70 else text[:69] + "…"


_NEIGHBOURS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_WORDS = (
    ("pending", "active", "schedule", "dead"),
    ("state", "attempts", "payload", "last_error", "progress", "stalled", "lease_epoch"),
    ("completed", "failed"),
)
_STATES = (b"pending", b"active", b"scheduled", b"dead")
_ATTRIBUTES = (("pending", "active"), ("rows", "logs", "locks"), ("meta", "counters"))


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Other nodes to stand in the place of a node."""
    if isinstance(
        node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise, ast.Break, ast.Continue)
    ):
        yield "drop a statement", ast.copy_location(ast.Pass(), node)
    if isinstance(node, ast.Return) and node.value is not None:
        yield "reply", ast.copy_location(ast.Return(ast.Constant(None)), node)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        for verdict in (False, True):
            if not (isinstance(node, ast.While) and verdict):
                yield "drop a guard", _copy(node, test=ast.Constant(verdict))
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield "drop a guard", value
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _NEIGHBOURS[type(node.ops[0])]:
            yield "comparison", _copy(node, ops=[other()])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "drop a guard", node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield "arithmetic", _copy(node, op=ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
        yield "arithmetic", node.left
        yield "arithmetic", node.right
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield "arithmetic", _copy(node, op=ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
    if isinstance(node, ast.Attribute):
        for words in _ATTRIBUTES:
            if node.attr in words:
                yield from (("name", _copy(node, attr=other)) for other in words if other != node.attr)
    if isinstance(node, ast.Constant):
        for other in _other_constants(node.value):
            yield "constant", ast.copy_location(ast.Constant(other), node)


def _copy(node: Any, **changed: Any) -> Any:
    twin = copy.copy(node)
    for name, value in changed.items():
        setattr(twin, name, value)
    return twin


def _other_constants(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1, value - 1, value + 10, value - 10]
    if isinstance(value, bytes):
        return [other for other in _STATES if value in _STATES and other != value] + [value + b"x"]
    if isinstance(value, str):
        return [other for words in _WORDS if value in words for other in words if other != value] + (
            [value + "x"] if value.startswith("EMQ") else []
        )
    return []


def traces_differ(mutant: ModelMutant) -> bool:
    """Whether the mutant does something else than a recorded trace says, or does not end."""
    return _shows(mutant, "replay", *map(str, TRACES))


def _tests_fail(mutant: ModelMutant) -> bool:
    """Whether a test fails on the mutant, or does not end."""
    tests = [f"tests/test_{name}.py" for name in TESTS[mutant.module]]
    unused = (word for name in PLUGINS for word in ("-p", f"no:{name}"))
    return _shows(mutant, "test", "-q", "-x", *unused, "-k", WITHOUT_SERVER, *tests)


def _shows(mutant: ModelMutant, *what: str) -> bool:
    command = [sys.executable, FAULTY, mutant.module, *what]
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            input=mutant.source(),
            capture_output=True,
            timeout=HANGS_AFTER_S,
            check=False,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


TRACED, TESTED, SURVIVED = "by traces", "by tests", "survived"


def outcome(mutant: ModelMutant) -> str:
    """Who catches a mutant; tests are not asked where it is known to do the same as the model."""
    if traces_differ(mutant):
        return TRACED
    return SURVIVED if reason(mutant.name) or not _tests_fail(mutant) else TESTED


def saved() -> dict[str, str]:
    """The outcomes that were saved, by name."""
    found: dict[str, str] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    return found


def short(results: dict[str, str]) -> Iterator[str]:
    """Who caught how many, for the README."""
    counts = Counter(results.values())
    yield (
        f"Of {len(results):,} faulty *models*, {counts[TRACED]:,} go another way in the recorded traces, and the tests "
        f"of the model, without a server, catch {counts[TESTED]:,} more; {counts[SURVIVED]:,} do the same as the model."
    )


def main() -> int:
    """Print who caught how many, and each survivor; 0 if just those were caught that can be told apart."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.model", description=main.__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="WORD", help="only mutants with such a word in their name"
    )
    parser.add_argument("--save", action="store_true", help=f"put the raw results into {RESULTS.name}")
    options = parser.parse_args()
    for module in TESTS:
        real = ModelMutant(module, "none", (), ast.Pass())
        if traces_differ(real) or _tests_fail(real):
            print(
                f"the tests of {module} do not pass as it is: is pytest there, and Hypothesis?",
                file=sys.stderr,
            )
            return 2
    mutants = [m for m in model_mutants() if all(word in m.name for word in options.names)]
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(outcome, mutants)
        results = {}
        for mutant, ended in zip(mutants, outcomes, strict=True):
            results[mutant.name] = ended
            if len(results) % 50 == 0:
                print(f"{len(results)} of {len(mutants)}", file=sys.stderr, flush=True)
    counts = Counter(results.values())
    survived = [name for name, ended in results.items() if ended == SURVIVED]
    print(f"{len(mutants)} mutants of {', '.join(TESTS)}")
    print(f"{counts[TRACED]} caught by {', '.join(path.name for path in TRACES)}")
    print(f"{counts[TESTED]} more caught by the tests of the model")
    print(f"{sum(reason(name) is not None for name in survived)} do the same as the model:")
    for text in MODEL_REASONS:
        print(f"  {sum(reason(name) == text for name in survived):3}  {text}")
    unexplained = [name for name in survived if reason(name) is None]
    caught = [name for name, ended in results.items() if ended != SURVIVED and reason(name)]
    for name in unexplained:
        print(f"SURVIVED  {name}")
    for name in caught:
        print(f"CAUGHT, though it is said to do the same  {name}")
    if options.save:
        RESULTS.write_text(json.dumps({**saved(), **results} if options.names else results, indent=1) + "\n")
    return 1 if unexplained or caught else 0


if __name__ == "__main__":
    sys.exit(main())

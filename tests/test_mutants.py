"""A sample of the mutants that `python -m tests.mutation` makes: each is caught, or is known to do the same."""

import random

import pytest
from mutation import model
from mutation.operators import mutants
from mutation.survivors import MODEL_REASONS, REASONS, reason

from emqsim.check import check

SEED = 20_241_129
EVERY = {mutant.name: mutant for mutant in mutants()}
TOLD_APART = [name for name in EVERY if reason(name) is None and "drop an assignment: for" not in name]
SAMPLE = random.Random(SEED).sample(TOLD_APART, 40)
SAME = random.Random(SEED).sample([name for names in REASONS.values() for name in names], 5)

MODELS = {mutant.name: mutant for mutant in model.model_mutants()}
TRACED = [name for name, ended in model.saved().items() if ended == model.TRACED and name in MODELS]
MODEL_SAMPLE = random.Random(SEED).sample(TRACED, min(12, len(TRACED)))


def test_every_known_survivor_is_a_mutant():
    assert {name for names in REASONS.values() for name in names} <= set(EVERY)
    assert {name for names in MODEL_REASONS.values() for name in names} <= set(MODELS)


def test_names_are_one_mutants():
    assert len(EVERY) == len(mutants())
    assert len(MODELS) == len(model.model_mutants())


@pytest.mark.parametrize("name", SAMPLE)
def test_a_faulty_script_is_caught(valkey_server, name):
    mutant = EVERY[name]
    report = check(valkey_server, scripts={mutant.script: mutant.source}, dialect=mutant.dialect, seed=SEED)
    assert not report.conforms
    assert report.failure is None
    assert len(report.divergence.program.steps) <= (40 if mutant.operator == "fence" else 15)


@pytest.mark.parametrize("name", SAME)
def test_what_does_the_same_conforms(valkey_server, name):
    mutant = EVERY[name]
    report = check(
        valkey_server, scripts={mutant.script: mutant.source}, dialect=mutant.dialect, examples=40, seed=SEED
    )
    assert report.conforms, report.divergence


@pytest.mark.parametrize("name", MODEL_SAMPLE)
def test_a_faulty_model_does_not_replay(name):
    assert model.traces_differ(MODELS[name])

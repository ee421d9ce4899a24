"""Requests made up from the OpenAPI description: whatever comes, the answer is one that the description names."""

import json
import os
from collections import Counter
from contextlib import suppress
from itertools import count

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from tests.dashboard.served import fed, serving

import allweather as aw
from allweather.dashboard.schemas import ObjectiveChoice, describe_objective, own_choice

EXAMPLES = 8
"""Of every operation, and in both ways: those that fit the description, and those that do not."""
SEQUENCES = int(os.environ.get("SEQUENCES", "4"))
BRIEF = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
]
ONE = "/api/v1/studies/{name}"
BY_CHANCE = {f"POST {ONE}/{each}" for each in ("contexts", "trials", "trials/{number}/tell", "trials/{number}/correct")}
"""Which values fit depends on the study's variables, of which the description knows nothing."""

LINKED = ("", "/ask", "/trials", "/trials/{number}", "/trials/{number}/tell", "/trials/{number}/correct")
FITTING = {
    f"POST {ONE}/ask": {"n": 1},
    f"POST {ONE}/trials/{{number}}/tell": {"values": [1.5], "context": {"demand": 50}},
    f"POST {ONE}/trials/{{number}}/correct": {"values": [2.5]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    url = fed(f"sqlite:///{tmp_path_factory.mktemp('described')}/studies.db", 5)
    with serving(url) as running:
        yield running


@pytest.fixture(scope="module")
def schema(server):
    return schemathesis.openapi.from_url(f"{server.address}/api/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
def test_every_answer_is_in_the_description(schema, mode, record_property):
    answers = {}
    for found in schema.get_all_operations():
        answers[found.ok().label] = tried(found.ok(), mode)
    assert len(answers) == 18
    assert sum(map(bool, answers.values())) >= 8
    if mode is GenerationMode.POSITIVE:
        for label, statuses in answers.items():
            assert label in BY_CHANCE or any(status < 300 for status in statuses), (
                f"{label} never succeeded: {statuses}"
            )
    said = {status: sum(each.count(status) for each in answers.values()) for status in range(200, 600)}
    record_property("throughput", f"requests by schemathesis, {mode.value}: { {k: v for k, v in said.items() if v} }")


def tried(operation, mode):
    """The statuses of some made-up requests; an answer that the description does not name is an error."""
    statuses = []

    @settings(BRIEF, max_examples=EXAMPLES)
    @given(case=operation.as_strategy(generation_mode=mode))
    def trying(case):
        if len(statuses) % 5:  # else hardly any request would find a study
            case.path_parameters = {**case.path_parameters, **known(case.path_parameters, len(statuses))}
        answer = case.call()
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    with suppress(Unsatisfiable):  # where nothing but a name is asked for, everything fits
        trying()
    return statuses


def known(parameters, turn):
    """Names and numbers of things that are there."""
    real = {"name": "kiosk", "number": turn % 5, "figure": ["profile", "robustness"][turn % 2]}
    return {name: real[name] for name in parameters if name in real}


def test_sequences_of_requests(schema, server):
    """Requests that follow from one another, along the links of the description: ask, tell, correct, withdraw, read.

    `SEQUENCES=500 python -m pytest tests/dashboard/test_schemas.py -k sequences` makes many of them.
    """
    schema.config.phases.stateful.inference.algorithms.clear()  # the links that are described, and no others
    linked = schema.include(path=["/api/v1/studies", *(f"{ONE}{each}" for each in LINKED)]).as_state_machine()
    statuses, serial = Counter(), count()

    class Sequences(linked):
        def setup(self):
            self.study, self.steps, self.stored = f"kiosk-{next(serial)}", 0, {}
            fed(server.app.state.studies.url, 1, self.study)

        def before_call(self, case):
            self.steps += 1
            number = case.path_parameters.get("number")
            waiting = [each for each, values in self.stored.items() if not values] or [0]
            real = {"name": self.study, "number": number if number in self.stored else waiting[-1]}
            if self.steps % 5 == 0:
                real = {"name": "nobody", "number": 10**6}
            else:  # what was made up fits the variables of the study by chance only
                case.body = FITTING.get(case.operation.label, case.body)
            case.path_parameters = {name: real[name] for name in case.path_parameters}

        def after_call(self, response, case):
            super().after_call(response, case)
            statuses[case.operation.label, response.status_code] += 1
            if response.status_code < 300 and "{name}/" in case.operation.label:
                said = response.json()
                self.stored.update({each["number"]: each["values"] for each in said.get("trials", [said])})

        def validate_response(self, response, case, **given):
            case.validate_response(response, checks=CHECKS)

        def teardown(self):
            with server.client() as client:
                trials = client.get(f"/api/v1/studies/{self.study}/trials").json()["trials"]
            assert {each["number"]: each["values"] for each in trials if each["number"] in self.stored} == self.stored

    Sequences.run(settings=settings(BRIEF, max_examples=SEQUENCES, stateful_step_count=8))
    assert statuses[f"POST {ONE}/ask", 201], statuses


def test_the_examples_of_the_description_work(schema, server):
    """What the description shows is what a reader will send first."""
    document = schema.raw_schema
    with server.client() as client:
        for model, path in (("AskIn", "ask"), ("AddIn", "trials")):
            for example in document["components"]["schemas"][model]["examples"]:
                answer = client.post(f"/api/v1/studies/kiosk/{path}", content=json.dumps(example), headers=JSON)
                assert answer.status_code == 201, answer.text
        for example in document["components"]["schemas"]["TellIn"]["examples"]:
            (trial,) = client.post("/api/v1/studies/kiosk/ask", json={}).json()["trials"]
            here = f"/api/v1/studies/kiosk/trials/{trial['number']}"
            assert client.post(f"{here}/tell", json=example).status_code == 200


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("choice", "objective"),
    [
        (ObjectiveChoice(), None),
        (ObjectiveChoice(objective="expectation"), aw.Expectation()),
        (ObjectiveChoice(objective="worst-case"), aw.WorstCase()),
        (ObjectiveChoice(objective="dro", distance="kl", radius=0.3), aw.DRO(aw.KL(0.3))),
        (ObjectiveChoice(objective="cvar", level=0.1), aw.CVaR(0.1)),
    ],
)
def test_choices_are_objectives(choice, objective):
    assert repr(choice.part()) == repr(objective)


def test_choices_of_equal_objectives_have_equal_keys():
    assert ObjectiveChoice(objective="cvar", radius=0.3).key == ObjectiveChoice(objective="cvar").key
    assert ObjectiveChoice(objective="dro", radius=0.3).key != ObjectiveChoice(objective="dro").key


def test_specs_without_a_simple_objective():
    assert own_choice({"objective": {"name": "mean-variance", "penalty": 0.5}}) is None
    assert (
        own_choice({"objective": {"name": "dro", "distance": {"name": "mmd", "radius": 1, "lengthscale": 2}}}) is None
    )
    assert describe_objective(None) == "mean outcome (default)"

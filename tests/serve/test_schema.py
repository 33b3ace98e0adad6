"""Requests made from the OpenAPI description, sound and unsound: none may end in an error of the service."""

import time

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.conftest import TOKEN
from treewass.serve import LiveModel, Settings, create_app

pytestmark = pytest.mark.filterwarnings("ignore::treewass.documents.EmptyDocumentWarning")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema") / "model"
    fitted.save(folder)
    live = LiveModel(folder)
    yield schemathesis.openapi.from_asgi("/openapi.json", create_app(live, Settings(token=TOKEN)))
    live.close()


def try_all(described, n_examples, derandomize=True):
    """Call every operation with requests that fit its description, and with such that do not."""
    for operation in described.get_all_operations():
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @hypothesis.settings(
                max_examples=n_examples,
                suppress_health_check=list(hypothesis.HealthCheck),
                database=None,
                derandomize=derandomize,
            )
            @hypothesis.given(operation.ok().as_strategy(generation_mode=mode))
            def call(case):
                case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, checks=CHECKS, timeout=120)

            try:
                call()
            except hypothesis.errors.Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # a request without parameters cannot be wrong
            yield f"{operation.ok().label} {mode.name}"


def test_no_request_ends_in_an_error_of_the_service(described):
    assert len(list(try_all(described, 5))) == 24


@pytest.mark.slow
def test_no_request_of_many_ends_in_an_error_of_the_service(described):
    assert len(list(try_all(described, 100))) == 24


@pytest.mark.soak
def test_no_request_of_five_minutes_ends_in_an_error_of_the_service(described):
    """New requests all the time: the profile of hypothesis that draws the same ones is left."""
    began = time.monotonic()
    while time.monotonic() - began < 300:
        for _ in try_all(described, 50, derandomize=False):
            pass

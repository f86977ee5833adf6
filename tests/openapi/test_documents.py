"""The documents hold together by themselves."""

from __future__ import annotations

import pytest
import schemathesis

from penstock import __version__
from penstock.config import Config
from penstock.wiring import dialects
from tests.openapi.documents import FOLDER, NAMES, document, references

each_document = pytest.mark.parametrize("name", NAMES)


def test_every_dialect_has_a_document() -> None:
    assert set(dialects(Config())) <= set(NAMES)


@each_document
def test_a_document_is_valid_openapi(name: str) -> None:
    schemathesis.openapi.from_path(FOLDER / f"{name}.json").validate()
    assert document(name).spec["openapi"].startswith("3.1.")


@each_document
def test_a_document_is_of_this_version(name: str) -> None:
    assert document(name).spec["info"]["version"] == __version__


@each_document
def test_every_reference_leads_somewhere_and_every_component_is_used(name: str) -> None:
    spec = document(name).spec
    used = set(references(spec))
    assert all(document(name).at(reference) for reference in used)
    kinds = {kind: named for kind, named in spec["components"].items() if kind != "securitySchemes"}
    components = {f"#/components/{kind}/{key}" for kind, named in kinds.items() for key in named}
    assert used == components


@each_document
def test_every_operation_has_a_name_of_its_own_and_says_what_it_does(name: str) -> None:
    operations = document(name).operations
    names = [operation.node["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in document(name).spec["tags"]}
    for operation in operations:
        assert operation.node["summary"]
        assert set(operation.node["tags"]) <= tags


@each_document
def test_every_gap_in_a_path_is_a_parameter(name: str) -> None:
    for operation in document(name).operations:
        gaps = {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
        described = {
            parameter["name"]
            for parameter in document(name).parameters(operation)
            if parameter["in"] == "path" and parameter["required"]
        }
        assert described == gaps, operation

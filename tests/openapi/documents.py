"""The OpenAPI documents, as a reader of them sees them: operations, and what is promised of their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import jsonschema_rs

from tests.transcripts.player import Answer

FOLDER = Path(__file__).parent.parent.parent / "docs" / "openapi"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
METHODS = ("get", "put", "post", "delete", "head")

Node = dict[str, Any]


class Operation(NamedTuple):
    """A method of a path."""

    method: str
    path: str
    node: Node

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


class Document:
    """One document."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: Node = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        self.operations = [
            Operation(method, path, item[method])
            for path, item in self.spec["paths"].items()
            for method in METHODS
            if method in item
        ]
        self.bases = [base for server in self.spec["servers"] for base in _bases(server)]
        # Where two paths fit, that which has a word where the other has a gap is meant.
        words_first = sorted(self.operations, key=lambda operation: _gaps(operation.path))
        self._patterns = [(_pattern(operation.path), operation) for operation in words_first]

    def resolved(self, node: Node) -> Node:
        """What a reference leads to; anything else is itself."""
        while "$ref" in node:
            node = self.at(node["$ref"])
        return node

    def at(self, reference: str) -> Node:
        """What is at `#/a/b/c`."""
        node: Node = self.spec
        for step in reference.removeprefix("#/").split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")]
        return node

    def operation_for(self, method: str, path: str) -> Operation | None:
        """The operation that a request asks for."""
        below = {path.removeprefix(base) for base in self.bases if path.startswith(f"{base}/")}
        for pattern, operation in self._patterns:
            if operation.method == method.lower() and any(map(pattern.fullmatch, below)):
                return operation
        return None

    def parameters(self, operation: Operation) -> list[Node]:
        shared = self.spec["paths"][operation.path].get("parameters", [])
        return [self.resolved(node) for node in [*shared, *operation.node.get("parameters", [])]]

    def responses(self, operation: Operation) -> dict[int, Node]:
        return {int(code): self.resolved(node) for code, node in operation.node["responses"].items()}

    def complaints(self, operation: Operation, answer: Answer, *, is_whole: bool = True) -> Iterator[str]:
        """Where an answer is not as described. One that is not whole lacks what the server adds to it."""
        response = self.responses(operation).get(answer.status)
        if response is None:
            yield f"{answer.status} is not described"
            return
        yield from self._complaints_of_headers(response, answer, is_whole=is_whole)
        if operation.method != "head":
            yield from self._complaints_of_body(response.get("content", {}), answer)

    def _complaints_of_headers(self, response: Node, answer: Answer, *, is_whole: bool) -> Iterator[str]:
        for name, reference in response["headers"].items():
            header = self.resolved(reference)
            value = answer.headers.get(name.lower())
            if value is not None:
                yield from self._misfits(header["schema"], _as_number(value.decode("latin-1")), name)
            elif header.get("required") and (is_whole or name != "X-Request-ID"):
                yield f"there is no {name}"

    def _complaints_of_body(self, content: Node, answer: Answer) -> Iterator[str]:
        media_type = answer.headers.get("content-type", b"").decode("latin-1").partition(";")[0]
        if not content:
            if answer.body:
                yield f"a body is not described: {answer.body[:200]!r}"
            return
        described = content.get(media_type, content.get("*/*"))
        if described is None:
            yield f"{media_type or 'no type'} is not described"
        elif media_type == "application/x-ndjson":
            for line in answer.body.splitlines():
                yield from self._misfits(described["schema"]["contentSchema"], json.loads(line), "a line")
        elif "schema" in described:
            is_json = media_type == "application/json"
            value = json.loads(answer.body) if is_json else answer.body.decode()
            yield from self._misfits(described["schema"], value, "the body")

    def _misfits(self, schema: Node, value: object, what: str) -> Iterator[str]:
        for error in _validator(self.name, json.dumps(schema)).iter_errors(value):
            yield f"{what}: {error.message}"


@cache
def document(name: str) -> Document:
    return Document(name)


@cache
def _validator(name: str, schema: str) -> jsonschema_rs.Validator:
    components = document(name).spec["components"]
    return jsonschema_rs.Draft202012Validator(
        {"components": components, **json.loads(schema)}, validate_formats=True
    )


def _bases(server: Node) -> Iterator[str]:
    """The paths below which a server has its operations: one for each value of a variable in it."""
    path = urlsplit(server["url"]).path
    variables = server.get("variables", {})
    for values in product(*(variable["enum"] for variable in variables.values())):
        yield path.format_map(dict(zip(variables, values, strict=True)))


def _gaps(path: str) -> list[bool]:
    return [segment.startswith("{") for segment in path.split("/")]


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]*", re.escape(path)))


def _as_number(text: str) -> str | int:
    return int(text) if text.isdigit() else text


def references(node: object) -> Iterator[str]:
    """Every reference below a node."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def path_of(target: str) -> str:
    """The path of a request's target, decoded but for slashes within a segment."""
    path = target.partition("?")[0]
    return "/".join(unquote(segment).replace("/", "%2F") for segment in path.split("/"))

"""Data that people wrote is read as dataclasses, or refused with the field, the line and what is wanted there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.validation import Before, Invalid, compose, parse_yaml, plain, read, read_json


def _short(value: object) -> object:
    if len(str(value)) > 5:
        raise ValueError("this is too long for a name")
    return value


@dataclass(frozen=True, slots=True)
class Part:
    name: Annotated[str, Before(_short)]
    weight: float = field(default=1.0, metadata={"ge": 0, "le": 2})


@dataclass(frozen=True, slots=True)
class Whole:
    way: bool | Literal["oracle"] = True
    size: int | None = 3
    kind: Literal["mug", "cup"] = "mug"
    parts: tuple[Part, ...] = ()


def test_texts_are_read_as_what_the_fields_are() -> None:
    given = {"way": "off", "size": "7", "kind": "cup", "parts": [{"name": "a", "weight": "0.5"}]}
    assert read(Whole, given) == Whole(False, 7, "cup", (Part("a", 0.5),))
    assert read(Whole, {"way": "oracle", "size": None}) == Whole("oracle", None)


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        ({"kind": "cupp"}, ("kind",), "this must be one of mug, cup, not 'cupp'. Did you mean 'cup'?"),
        ({"way": "x"}, ("way",), "this must be on or off or oracle, not 'x'."),
        ({"size": "x"}, ("size",), "this must be a whole number, not 'x'."),
        ({"parts": 3}, ("parts",), "this must be a list, not 3."),
        ({"parts": [{"name": "a", "weight": 3}]}, ("parts", 0, "weight"), "this must be at most 2, not 3."),
        ({"parts": [{"name": "abcdef"}]}, ("parts", 0, "name"), "this is too long for a name."),
        ({"parts": [{}]}, ("parts", 0, "name"), "this is missing."),
        (
            {"parts": [{"nam": "a"}]},
            ("parts", 0, "nam"),
            "this field is not known. Did you mean 'name'? Known: name, weight.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(given: object, path: tuple[str | int, ...], reason: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(Whole, given)
    assert (caught.value.path, caught.value.sentence) == (path, reason)


def test_a_place_has_its_line() -> None:
    root = compose("kind: mug\nparts:\n- name: a\n- weight: 1\n  name: abcdef\n")
    assert root is not None
    with pytest.raises(Invalid) as caught:
        read(Whole, plain(root))
    assert caught.value.located(root).line == 5


def test_json_is_taken_as_it_is_typed() -> None:
    assert read_json(Part, b'{"name": "a", "weight": 2, "more": 1}') == Part("a", 2.0)
    for content in (b'{"name": "a", "weight": "2"}', b'{"name": "a"', b"[]"):
        with pytest.raises(Invalid):
            read_json(Part, content)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a: &x 1\nb: *x", "The file, line 2: YAML anchors and aliases are not read"),
        (b"a: !secret 1", "The file, line 1: the tag '!secret' is not read"),
        (b"a: 1\na: 2", "The file, line 2: this is not valid YAML"),
        (b"[" * 100, "The file, line 1: this is nested too deep"),
        (b"\x00", "The file: this is not valid YAML"),
    ],
)
def test_yaml_that_could_do_harm_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        parse_yaml(content, "The file")

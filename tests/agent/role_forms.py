"""What holds of the form of each role, whichever part it belongs to."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from housequest.agent.models.forms import (
    Choice,
    Either,
    Form,
    Listed,
    Name,
    Value,
    Words,
    grammar_of,
    longest_of,
    schema_of,
    written,
)
from housequest.agent.roles.base import Role


def json_of(value: Value, chance: Random) -> object:
    """Some JSON that the schema of ``value`` allows."""
    match value:
        case Words():
            return chance.choice(["I see a mug.", "look for it", "Ja, größer\nals \x00 das", "Go" * 400, "1. First"])
        case Name():
            return chance.choice(["mug 1", "The Big Mug", "sidetable 2", "mug (the red one)"])
        case Choice(texts):
            return chance.choice(texts).strip()
        case Either(options):
            return json_of(chance.choice(options), chance)
        case Listed(item=item, most=most):
            return [json_of(item, chance) for _ in range(chance.randint(1, most))]
        case Form(parts):
            return {part[0]: json_of(part[1], chance) for part in parts if not isinstance(part, str)}
        case _:
            raise AssertionError(value)


def check_form(role: Role[Any], chance: Random) -> None:
    """A role reads all that its form allows; its schema asks for that and nothing else, and its grammar is whole."""
    assert role.form is not None
    for _ in range(60):
        text = role.form.from_json(json.dumps(json_of(role.form, chance)))
        assert text is not None
        assert role.form.read(text) is not None, text
        assert len(text) <= longest_of(role.form)
        role.read(text)
    short = role.form.without_thought
    for _ in range(20):
        text = written(short, json_of(short, chance))
        assert text is not None
        role.read(text)
    _check_schema(role.form)
    _check_grammar(role.form)


def _check_schema(form: Form) -> None:
    objects = [schema_of(form)]
    for each in objects:
        if each.get("type") == "object":
            assert each["required"] == list(each["properties"])
            assert each["additionalProperties"] is False
        objects += [*each.get("properties", {}).values(), *each.get("anyOf", ()), *([each["items"]] if "items" in each else [])]


def _check_grammar(form: Form) -> None:
    """It names each rule that it refers to."""
    rules = dict(line.split(" ::= ", 1) for line in grammar_of(form).splitlines())
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}', "", "\n".join(rules.values()))
    assert set(re.findall(r"[a-z]\w*", bare)) | {"root"} == set(rules)

"""A rulebook: a YAML file of rules that a person can read and edit."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from knowledge.rules import Rule
from worlds.errors import KnowledgeError, shown

LARGEST_FILE = 1_000_000
LONGEST_STATEMENT = 2_000
_KEYS = {"id", "statement"}


def read_rulebook(path: Path) -> bytes:
    """The bytes of the rulebook ``path``. Raises ``KnowledgeError`` for a file that cannot be read or is too large."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise KnowledgeError(f"The rulebook {path} cannot be read: {error.strerror}.") from error
    if len(content) > LARGEST_FILE:
        raise KnowledgeError(f"The rulebook {path} is too large: at most {LARGEST_FILE} bytes are read.")
    return content


def load_rules(path: Path, content: bytes | None = None) -> tuple[Rule, ...]:
    """Read the rules of ``path``: a list whose items are statements, or ``{id, statement}``; ids default to ``rule-N``.

    ``content`` is what was read from it already. Raises ``KnowledgeError`` naming the file and the item.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    content = read_rulebook(path) if content is None else content
    if b"&" in content and b"*" in content and _aliased(content):
        raise KnowledgeError(f"The rulebook {path} uses YAML anchors and aliases, which are not read; write each rule out.")
    try:
        value: object = YAML(typ="safe", pure=True).load(content)  # pyright: ignore[reportUnknownMemberType]
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise KnowledgeError(f"The rulebook {path} is not valid YAML: {reason}.") from None
    if value is None:
        return ()
    if not isinstance(value, list):
        raise KnowledgeError(f"The rulebook {path} must be a list of statements.")
    rules = tuple(_rule(path, number, item) for number, item in enumerate(cast("list[object]", value), 1))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise KnowledgeError(f"The rulebook {path} has two rules with the id {shown(rule.id)}.")
        seen.add(rule.id)
    return rules


def _aliased(content: bytes) -> bool:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    try:
        parsed = YAML(typ="safe", pure=True).parse(content)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return any(isinstance(event, AliasEvent) for event in parsed)  # pyright: ignore[reportUnknownVariableType]
    except (YAMLError, ValueError, RecursionError):
        return False  # The loader says what is wrong with it.


def _rule(path: Path, number: int, item: object) -> Rule:
    where = f"The rulebook {path}, rule {number}:"
    if isinstance(item, str):
        item = {"statement": item}
    if not isinstance(item, dict):
        raise KnowledgeError(f"{where} must be a statement, or have the keys id and statement.")
    fields = cast("dict[object, object]", item)
    unknown = [key for key in fields if key not in _KEYS]
    if unknown:
        raise KnowledgeError(f"{where} unknown key {shown(unknown[0])}; known: id, statement.")
    statement = fields.get("statement")
    if not isinstance(statement, str) or not statement.strip():
        raise KnowledgeError(f"{where} has no statement.")
    if len(statement) > LONGEST_STATEMENT:
        raise KnowledgeError(f"{where} a statement has at most {LONGEST_STATEMENT} characters.")
    return Rule(str(fields.get("id", f"rule-{number}"))[:100], " ".join(statement.split()))

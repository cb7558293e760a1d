"""The nodes of a rulebook's YAML with their places. Aliases, tags and deep nesting are refused as soon as they come."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent

from housequest.knowledge.reading import LONGEST_WORD, PLAIN, Wrong, YamlNode
from housequest.worlds.errors import KnowledgeError, shown

DEEPEST = 20

_TYPES = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")
_TAKEN = {"", "!", *(f"{PLAIN}{name}" for name in _TYPES)}


def compose(text: str, where: str) -> YamlNode | None:
    """The node of the one document in ``text``, None where there is none; ``where`` names the file in errors.

    Raises ``KnowledgeError`` for what is not YAML, and ``Wrong``.
    """
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Composer = _CarefulComposer
    try:
        return yaml.compose(text)
    except MarkedYAMLError as marked:
        error: Any = marked
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        problem = error.problem or error.context
        raise KnowledgeError(f"{where}{line}: this is not valid YAML: {_said(problem)}.") from None
    except (YAMLError, ValueError, TypeError, AttributeError, IndexError, AssertionError, OverflowError) as error:
        raise KnowledgeError(f"{where}: this is not valid YAML: {_said(error)}.") from None


def _said(problem: object) -> str:
    return shown(" ".join(str(problem).split()), 200)


class _CarefulComposer(Composer):
    """ruamel's own, but for what no rulebook may hold: it is refused before anything is made of it."""

    def __init__(self, loader: Any = None) -> None:
        theirs: Any = super()  # ruamel has no types
        theirs.__init__(loader)
        self.warn_double_anchors = False
        self._nested = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        ours: Any = self
        theirs: Any = super()
        event = ours.parser.peek_event()
        line: int = event.start_mark.line
        if isinstance(event, AliasEvent):
            raise Wrong(line, "YAML anchors and aliases are not read; write each rule out")
        if event.ctag is not None:
            # ruamel takes long to decode a long tag.
            long = len(event.ctag.suffix or "") > LONGEST_WORD
            tag = str(event.ctag.suffix if long else event.ctag)
            if tag not in _TAKEN:
                raise Wrong(line, f"the tag {shown(tag)} is not read; leave it out")
        if self._nested > DEEPEST:
            raise Wrong(line, "this is nested too deep for a rule")
        self._nested += 1
        node = theirs.compose_node(parent, index)
        self._nested -= 1
        return node

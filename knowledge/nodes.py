"""The nodes of a rulebook's YAML with their places. Aliases, tags and deep nesting are refused as soon as they come."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

from housequest.worlds.errors import KnowledgeError, shown

DEEPEST = 20
LONGEST_TAG = 300

PLAIN = "tag:yaml.org,2002:"
"""What the tags of YAML's own types begin with."""
_TYPES = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "map", "seq")
_TAKEN = {"", "!", *(f"{PLAIN}{name}" for name in _TYPES)}


class YamlNode(Protocol):
    """A node of ruamel's. ``value`` is a text, a list of nodes, or a list of pairs of nodes; ``flow_style``: in brackets."""

    id: Literal["scalar", "sequence", "mapping"]
    tag: str
    value: Any
    start_mark: Any
    end_mark: Any
    flow_style: bool | None
    style: str | None


class Place(NamedTuple):
    """Where a node is in the text, by index; ``column`` is that of its start. ``block``: its parts have lines of their own."""

    start: int
    column: int
    end: int
    block: bool

    @classmethod
    def of(cls, node: YamlNode) -> Place:
        """The place of ``node``."""
        start, end = node.start_mark.index, node.end_mark.index
        # Nothing, where a list might be, is at the beginning of what comes next.
        block = start == end if node.id == "scalar" else not node.flow_style
        return cls(start, node.start_mark.column, end, block)


class Wrong(Exception):
    """What is wrong in a ``line``, counted from 0. ``fields`` leads to it from its rule."""

    def __init__(self, line: int, reason: str, *fields: str) -> None:
        super().__init__(reason)
        self.line = line
        self.fields = fields


def compose(text: str, where: str) -> YamlNode | None:
    """The node of the one document in ``text``, None where there is none; ``where`` names the file in errors.

    Raises ``KnowledgeError`` for what is not YAML, and ``Wrong``.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Composer = _careful_composer()
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


@cache
def _careful_composer() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.events import AliasEvent

    class CarefulComposer(Composer):
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
                long = len(event.ctag.suffix or "") > LONGEST_TAG
                tag = str(event.ctag.suffix if long else event.ctag)
                if tag not in _TAKEN:
                    raise Wrong(line, f"the tag {shown(tag)} is not read; leave it out")
            if self._nested > DEEPEST:
                raise Wrong(line, "this is nested too deep for a rule")
            self._nested += 1
            node = theirs.compose_node(parent, index)
            self._nested -= 1
            return node

    return CarefulComposer

"""An honest model: it plays a household from the prompt alone, always alike, neither well nor badly."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

Messages = Sequence[Mapping[str, Any]]

_READY = "ready"
_POSSIBLE = "Commands that are possible now:\n"
_ACTION = re.compile(r"^Action: (.+)$", re.MULTILINE)
_GOAL = re.compile(r"^Task: (.+)$", re.MULTILINE)
_TREATMENTS = ("heat", "cool", "clean")
_THINGS, _PLACES = ("mug", "cup", "egg", "pillow", "book"), ("fridge", "cabinet", "drawer")
_UNREADABLE = 12
"""One prompt of so many gets a reply that cannot be read."""


def written(message: Mapping[str, Any]) -> str:
    """The text of a message, and the address of a picture, which has its bytes."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else part["image_url"]["url"] for part in content)


def digest(messages: Messages) -> str:
    """What tells this prompt from others; its opening names the episode."""
    return hashlib.sha256("\0".join(map(written, messages)).encode("utf-8", "replace")).hexdigest()[:16]


def is_probe(messages: Messages) -> bool:
    """Whether this asks what the endpoint can do, and not for a command, rules or a judgement: no episode is played by it."""
    return reply(messages) == _READY


def reply(messages: Messages) -> str:
    """A thought and a command; rules and judgements where an explorer asks for them; to anything else, a word."""
    text = "\n".join(map(written, messages))
    if "Write the rules that these steps show." in text:
        return _rules(digest(messages))
    if pairs := re.search(r"Judge each of these (\d+) pairs", text):
        return "\n".join(f"{number}: different" for number in range(1, int(pairs[1]) + 1))
    if text.endswith("Which of them is right?"):
        return f"Thought: {digest(messages)} says so.\nRight: {('A', 'B', 'unsure')[int(digest(messages), 16) % 3]}"
    possible = text.rpartition(_POSSIBLE)[2].split("\n") if _POSSIBLE in text else []
    if not possible:
        return _READY
    mark = digest(messages)
    if int(mark, 16) % _UNREADABLE == 0:
        return f"I wonder about {mark}."
    done = [action for message in messages if message["role"] == "assistant" for action in _ACTION.findall(written(message))]
    goal = set(re.findall(r"[a-z]+", (_GOAL.search(text) or [""])[0].lower()))
    command = min(possible, key=lambda command: (_rank(command, goal, done), _spread(command, mark)))
    return f"Thought: this is what {mark} asks for\nAction: {command}"


def _rules(mark: str) -> str:
    """Two rules that nobody else says."""
    thing, place = _THINGS[int(mark, 16) % len(_THINGS)], _PLACES[int(mark, 16) % len(_PLACES)]
    first = (
        f"Rule: A {thing} is often in a {place}, as {mark[:6]} says.\nKind: location\nObjects: {thing}, {place}\nSteps: 1, 2"
    )
    second = f"Rule: Look first into the {place}, says {mark[6:12]}.\nKind: strategy\nObjects: {place}\nSteps: 2\nCheck: none"
    return f"{first}\nCheck: none\n\n{second}"


def _rank(command: str, goal: set[str], done: Sequence[str]) -> int:
    """How late ``command`` comes; those of one rank are as good as each other."""
    verb, *names = [word for word in command.split() if not word.isdigit() and word not in {"to", "from", "with"}]
    thing, place = (*names, "", "")[:2]
    treatment = goal.intersection(_TREATMENTS)
    treated = not treatment or any(action.split()[0] in treatment for action in done)
    if verb in treatment and thing in goal and not treated:
        return 0
    if verb == "move" and thing in goal and place in goal and treated:
        return 1
    if verb == "take" and thing in goal and place not in goal and command not in done:
        return 2
    if verb == "use" and command not in done:
        return 3
    if verb == "open" and command not in done:
        return 4
    if verb == "go" and command not in done:
        return 5
    return 6 if verb == "go" else 7


def _spread(command: str, mark: str) -> str:
    """An order that looks random and is the same for the same prompt."""
    return hashlib.sha256(f"{mark} {command}".encode()).hexdigest()

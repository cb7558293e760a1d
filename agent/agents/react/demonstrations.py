"""What an expert replies as ReAct: a thought and a command, in each of the forms that its prompts ask for."""

from __future__ import annotations

from housequest.agent.models.base import Request
from housequest.agent.roles.demonstrations import (
    DemonstratedRole,
    Demonstrator,
    Reply,
    asked,
    left_in_words,
    shown_part,
)
from housequest.knowledge.examples import ANSWER, THINK


def _labelled(knows: Demonstrator, request: Request) -> Reply:
    lesson, learned = knows.lesson(request, shown_part(knows, request))
    return Reply(f"Thought: {lesson.thought}\nAction: {lesson.playable}", learned)


def _marked(knows: Demonstrator, request: Request) -> Reply:
    """Between marks. The prompt forgets, so a command may name what it no longer tells."""
    del request
    lesson, learned = knows.lesson()
    return Reply(f"<think>{lesson.thought}</think>\n<action>{lesson.playable}</action>", learned)


def _line(knows: Demonstrator, request: Request) -> Reply:
    """A line of the story: a thought before each part of the task, else a command."""
    thoughtful = f"> {THINK}" in request.messages[0].content
    if thoughtful and knows.advanced and not asked(request).removesuffix("\n>").endswith(ANSWER):
        first, now = not knows.scene.seen, knows.move().thought
        return Reply(f"{THINK} To do this I {left_in_words(knows)}. First I {now}." if first else f"{THINK} Now I {now}.")
    lesson, learned = knows.lesson(request)
    return Reply(lesson.playable, learned)


ROLES = (
    DemonstratedRole("housequest.agent.agents.react", "react", _labelled),
    # A user's copy of verl-agent's prompts asks for the same marks in other words.
    DemonstratedRole("housequest.agent.agents.react.window", "window", _marked, mark="<action>"),
    DemonstratedRole("housequest.agent.agents.react.exemplars", "frame", _line),
)

"""Agents with a model in company: their prompts tell the news, what they say arrives, and alone nothing of it is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.base import Turn
from housequest.agent.episodes.events import Said, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.library import evaluate
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.models.base import Message
from housequest.agent.models.forms import Choice, Form
from housequest.agent.roles.base import Answer, Role, load_prompt
from housequest.agent.roles.company import LONGEST_LINE, MOST_LINES, speaking, spoken, with_lines
from housequest.agent.roles.reading import acting_form, read_command
from housequest.worlds.household.talk import LONGEST_SAID
from tests.backends.server import Messages, Server

TASK = "chores:60000..60000"
WORDS = "I look for the mug."


def replies(messages: Messages) -> str:
    """A reply that each role can read, with a line for the others."""
    system = messages[0]["content"]
    if "<action>" in messages[-1]["content"]:
        return f"<think>ok</think>\nSay: {WORDS}\n<action>go to cabinet 4</action>"
    if "You plan for someone" in system:
        return "Thought: ok\nPlan:\n1. find and take a cup\n2. put it in the cabinet"
    if "You plan for a robot" in system:
        return "Task type: another\nThought: ok\nPlan:\n0. Find a cup.\n<END_OF_PLAN>"
    if "keep in mind what matters" in system:
        return "Observation: There is a kitchen."
    if "Play[skill, target]" in system:
        return f"Thought: ok\nSay: {WORDS}\nAction: Play[NavigateTo, cabinet 1]"
    if "Step: the number" in system:
        return f"Thought: ok\nSay: {WORDS}\nStep: 1\nAction: go to cabinet 2"
    if "Robot:" in system:
        return f"Say: {WORDS}\nfind a cabinet"
    if "Interact with a household" in messages[-1]["content"] or "> " in messages[0]["content"]:
        said = messages[-1]["content"].rstrip("\n> ").endswith("OK.")
        return "go to cabinet 3" if said else f"say: {WORDS}"
    return f"Thought: ok\nSay: {WORDS}\nAction: go to cabinet 5"


AGENTS = [
    ("react", {}),
    ("react", {"window": 2}),
    ("react", {"exemplars": "own"}),
    ("reasoner-actor", {}),
    ("opex", {}),
    ("lota", {"shots": 1}),
]


def company_words() -> Iterator[str]:
    sections = load_prompt("housequest.agent.roles", "company").sections
    yield from (max(re.split(r"\$\w+", text), key=len) for text in sections.values())
    yield from ("not alone", "Bob", "Ann")


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "settings"), AGENTS)
def test_what_an_agent_says_arrives_and_news_are_told(
    tmp_path: Path, server: Server, agent: str, settings: dict[str, object]
) -> None:
    server.policy = replies
    with_settings = {"agents": {agent: settings}} if settings else {}
    players = f"{agent}={server.model()}*2"
    run = evaluate(out=tmp_path / "two", players=players, split=TASK, max_steps=3, **with_settings)
    (record,) = RunFolder(run).episodes.iterdir()
    played = branch(list(read_episode(record)))
    said = [(event.player, event.body.text) for event in played if isinstance(event.body, Said)]
    assert {who for who, text in said if text == WORDS} == {"Ann", "Bob"}
    heard = [sentence for event in played if isinstance(event.body, Stepped) for sentence in event.body.news or ()]
    assert f'Ann says: "{WORDS}"' in heard
    prompts = [message["content"] for request in server.requests for message in request.messages]
    for words in ('Ann says: "I look for the mug."', 'Bob says: "I look for the mug."', "You are Ann.", "Bob plays"):
        assert any(words in prompt for prompt in prompts), words
    assert all(not event.body.command.lower().startswith("say") for event in played if isinstance(event.body, Stepped))


@pytest.mark.heavy
@pytest.mark.parametrize(("agent", "settings"), AGENTS)
def test_alone_nothing_is_told_of_company(tmp_path: Path, server: Server, agent: str, settings: dict[str, object]) -> None:
    server.policy = replies
    evaluate(out=tmp_path / "one", agent=agent, model=server.model(), split=TASK, max_steps=3, set=settings)
    prompts = [
        message["content"] for request in server.requests for message in request.messages if message["role"] != "assistant"
    ]
    assert prompts
    for words in company_words():
        assert not any(words in prompt for prompt in prompts), words


def answered(reply: str) -> Answer[str]:
    return Answer("look", "", (Message("assistant", reply),))


IN_COMPANY = Turn(1, 9, player="Ann", others=("Bob",))


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("Thought: x\nSay: I take the mug.\nAction: look", ("I take the mug.",)),
        ("**Say:** *I take the mug.*\nAction: look", ("I take the mug.",)),
        ("say： hallo Bob\nAction: look", ("hallo Bob",)),
        ('{"thought": "x", "say": "I take the mug.", "action": "look"}', ("I take the mug.",)),
        ("Say: nothing\nAction: look", ()),
        ("Say: Nothing to say.\nAction: look", ()),
        ("Say:\nAction: look", ()),
        ("<think>Say: a secret</think>\nAction: look", ()),
        ("Thought: I say: hurry\nAction: look", ()),
        ("\n".join(f"Say: {number}" for number in range(9)) + "\nAction: look", ("0", "1", "2")),
        (f"Say: {'x' * 3_000}\nAction: look", ("x" * (LONGEST_SAID - 1) + "…",)),
    ],
)
def test_lines_for_the_others_are_read_and_are_no_command(reply: str, says: tuple[str, ...]) -> None:
    assert with_lines(answered(reply), IN_COMPANY).says == says
    role = speaking(Role("react", read_command), IN_COMPANY)
    assert role.read(reply).command == "look"
    assert with_lines(answered(reply), Turn(1, 9)).says == ()
    assert speaking(role, Turn(1, 9)) is role


@given(st.text(max_size=300))
def test_any_reply_is_read_and_what_it_says_is_printable_and_short(reply: str) -> None:
    says = with_lines(answered(reply), IN_COMPANY).says
    assert len(says) <= MOST_LINES
    assert all(text and text.isprintable() and len(text) <= LONGEST_SAID for text in says)
    assert spoken(reply).isprintable()


def test_a_held_reply_has_a_line_before_its_action() -> None:
    form = speaking(Role("react", read_command, form=acting_form(Choice(("look",)))), IN_COMPANY).form
    assert form is not None
    text = "Thought: Hm\nSay: Here I am\nAction: look"
    assert form.read(text) is not None
    assert form.read(text.replace("\nSay: Here I am", "")) is None
    other = speaking(Role("selector", str, form=Form((("skill", Choice(("find a mug,",))),))), IN_COMPANY).form
    assert other is not None
    assert other.read("find a mug,\nSay: " + "W" * LONGEST_LINE) is not None

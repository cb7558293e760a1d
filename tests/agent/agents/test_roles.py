"""How replies are read: to the letter, then leniently, and never with anything but a value or a ``ReplyError``."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.agents.react.agent import REACT
from housequest.agent.agents.reasoner_actor.agent import ACTOR, REASONER, ActorReply, ReasonerReply
from housequest.agent.agents.spec import AgentParts, agent_names, agent_spec, prompt_hashes
from housequest.agent.models.base import Completion, Model, Request
from housequest.agent.roles.base import LONGEST_REPLY, ReplyError, Sampling, ask, clean, load_prompt, template_hashes
from housequest.agent.roles.reading import LONGEST_COMMAND
from housequest.agent.roles.reading import CommandReply as Said
from housequest.worlds.registry import make_world, plugins


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        ("Thought: an egg is in the fridge\nAction: go to fridge 1", Said("an egg is in the fridge", "", "go to fridge 1")),
        ("**Thought:** look first\n\n**Action:** `open fridge 1`.", Said("look first", "", "open fridge 1")),
        ("thought: a\naction: go to sinkbasin 1\nObservation: You see\nAction: take b", Said("a", "", "go to sinkbasin 1")),
        ("<think>Action: no\n</think>Thought: b\nAction: yes 1", Said("b", "", "yes 1")),
        ("<think>it never ends", None),
        ("```\nAction: look\n```", Said("", "", "look")),
        ('{"thought": "c", "action": "look"}', Said("c", "", "look")),
        ("take mug 1 from shelf 2", Said("", "", "take mug 1 from shelf 2")),
        ("> go to bed 1", Said("", "", "go to bed 1")),
        ("Thought: a\nAction: `go to bed 1`", Said("a", "", "go to bed 1")),
        ("Thought: a\nAction: go to bed 1.", Said("a", "", "go to bed 1")),
        ("Thought: a\nAction: go to bed 1 (to look under it)", Said("a", "", "go to bed 1")),
        ('Thought: a\nAction: "go to bed 1" because it is near', Said("a", "", "go to bed 1")),
        ("Thought: a\nAction: go to [bed 1]", Said("a", "", "go to bed 1")),
        ("Thought 1: a\nAction 1: go to bed 1\nObservation 1: You", Said("a", "", "go to bed 1")),
        ("1. Thought: a\n2. Next action: go to bed 1", Said("a", "", "go to bed 1")),
        ("### Thought\na\n### Action\ngo to bed 1", Said("a", "", "go to bed 1")),
        ("Thought: a. Action: go to bed 1", Said("a.", "", "go to bed 1")),
        ("Thought：a\nAction：go to bed 1", Said("a", "", "go to bed 1")),
        ("Thought: one of\n- bed: soft\n- desk: hard\nAction: look", Said("one of\n- bed: soft\n- desk: hard", "", "look")),
        ("Action: no\n</think>\nThought: b\nAction: look", Said("b", "", "look")),
        ("I will go to bed 1.", None),
        ("The task is complete.", None),
        ("I am sorry, but I can't help with that.", None),
        ("Thought: only a thought", None),
        ("Action:", None),
        ("", None),
        (f"Action: {'x' * (LONGEST_COMMAND + 1)}", None),
        ("Action: look\u202e", None),
        ('{"a": ' * 5000, None),
    ],
)
def test_react_reads(reply: str, move: Said | None) -> None:
    if move is None:
        with pytest.raises(ReplyError):
            REACT.read(reply)
    else:
        assert REACT.read(reply) == move


@pytest.mark.parametrize(
    ("reply", "plan"),
    [
        ("Thought: t\nPlan:\n1. find an egg\n2. heat it", ReasonerReply("t", ("find an egg", "heat it"))),
        ("Thought: t\nPlan: keep", ReasonerReply("t", None)),
        ("Thought: still right.\n\n**Plan:** keep the plan.", ReasonerReply("still right.", None)),
        (
            "Sure!\n## Revised plan:\n- find a mug\n- put it in the sink\n",
            ReasonerReply("", ("find a mug", "put it in the sink")),
        ),
        ("1) find a mug\n2) clean it", ReasonerReply("", ("find a mug", "clean it"))),
        ("Step 1: find a mug\nStep 2: clean it", ReasonerReply("", ("find a mug", "clean it"))),
        ("Thought: t\nPlan:\nthere is none", None),
        ("Keep the plan.", ReasonerReply("", None)),
        ('{"thought": "t", "plan": ["find a mug", "clean it"]}', ReasonerReply("t", ("find a mug", "clean it"))),
        ('{"thought": "t", "plan": "keep"}', ReasonerReply("t", None)),
        ("Plan:\n1. **Find**: a mug", ReasonerReply("", ("Find: a mug",))),
        ("\n".join(f"{n}. s" for n in range(1, 40)), None),
        ("", None),
    ],
)
def test_reasoner_reads(reply: str, plan: ReasonerReply | None) -> None:
    if plan is None:
        with pytest.raises(ReplyError):
            REASONER.read(reply)
    else:
        assert REASONER.read(reply) == plan


@pytest.mark.parametrize(
    ("reply", "grounding"),
    [
        ("Thought: t\nStep: 2\nAction: look", ActorReply("t", 1, "look")),
        ("Thought: t\nStep: 2 of 3\nAction: stuck", ActorReply("t", 1, None)),
        ("Action: Stuck.", ActorReply("", None, None)),
        ("Thought: t\nStep: 2\nAction: stuck.", ActorReply("t", 1, None)),
        ("Thought: t\nStep: 2\nAction: stuck - there is no egg", ActorReply("t", 1, None)),
        ("Thought: t\nStep 2: find it\nAction: look", ActorReply("t", 1, "look")),
        ("Action: look", ActorReply("", None, "look")),
        ("Step: 0\nAction: look", ActorReply("", 0, "look")),
        ('{"step": 3, "action": "look"}', ActorReply("", 2, "look")),
        ("Step: 3", None),
    ],
)
def test_actor_reads(reply: str, grounding: ActorReply | None) -> None:
    if grounding is None:
        with pytest.raises(ReplyError):
            ACTOR.read(reply)
    else:
        assert ACTOR.read(reply) == grounding


_PARTS = ["Thought: x", "Action:", "Plan:", "1. y", "Step: 9", "{", "}", "```", "<think>"]
_LINES = st.lists(
    st.one_of(st.text(max_size=60), st.sampled_from(_PARTS)),
    max_size=12,
).map("\n".join)


@given(_LINES)
def test_any_reply_is_a_value_or_a_reply_error(reply: str) -> None:
    for role in (REACT, REASONER, ACTOR):
        with suppress(ReplyError):
            role.read(reply)


@given(_LINES)
def test_a_command_that_is_read_is_one_plain_line(reply: str) -> None:
    with suppress(ReplyError):
        command = REACT.read(reply).command
        assert command
        assert len(command) <= LONGEST_COMMAND
        assert command.isprintable()


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_clean_text_can_be_written(text: str) -> None:
    clean(text).encode("utf-8")


def test_clean_text_is_bounded() -> None:
    assert len(clean("x" * 1_000_000)) == LONGEST_REPLY


def test_what_is_filled_in_is_never_a_template() -> None:
    rendered = load_prompt("housequest.agent.roles", "again").render("user", reason="$reason ${x} $$")
    assert "$reason ${x} $$" in rendered


def test_prompts_hold_sections_that_are_templates() -> None:
    assert {"react", "reasoner", "actor", "additions", "again"} <= set(prompt_hashes())
    shipped = {agent_spec(name).roles.prompts or "" for name in agent_names()} - {""}
    for package in {"housequest.agent.roles", *shipped, *(point.value for point in plugins("housequest.prompts").values())}:
        for name in template_hashes(package):
            sections = load_prompt(package, name).sections
            assert sections
            for text in sections.values():
                assert Template(text).is_valid()


def test_a_role_may_have_a_reply_budget_of_its_own() -> None:
    asked: list[int] = []

    class Counting(Model):
        name = "counting"

        async def complete(self, request: Request) -> Completion:
            asked.append(request.max_tokens)
            return Completion("Thought: here\nAction: look")

    for role, sampling in (
        (REACT, Sampling()),
        (replace(REACT, reply_tokens=2_048), Sampling()),
        (replace(REACT, reply_tokens=2_048), Sampling(max_tokens=64)),
    ):
        answer = asyncio.run(ask(role, Counting(), (), "Go on.", lambda *_: None, sampling))
        assert answer.value is not None
    assert asked == [512, 2_048, 64]


def test_a_setting_of_max_tokens_comes_before_a_roles_own_budget() -> None:
    def tokens(agent: str, given: dict[str, int], role: int | None = None) -> int:
        settings = agent_spec(agent).read_settings(given)
        return AgentParts(agent, make_world("scripted"), settings).sampling.reply_tokens(role)

    usual = {"react": 512, "socratic": 1_024, "saycan": 64}
    for agent, most in ((name, most) for name, most in usual.items() if name in agent_names()):
        assert tokens(agent, {}) == most
        assert tokens(agent, {}, role=2_048) == 2_048
        assert tokens(agent, {"max_tokens": 99}) == tokens(agent, {"max_tokens": 99}, role=2_048) == 99

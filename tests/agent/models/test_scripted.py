"""The model that says what a file tells it to."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.models.base import Completion, Message, Request, Usage, score
from housequest.agent.models.registry import make_model
from housequest.worlds.errors import ConfigurationError, ModelError, Unsupported

SCRIPT = """
rules:
  - role: You plan
    match: Write the plan
    reply: |
      Thought: easy.
      Plan:
      1. find a mug
  - role: You act
    replies: ["Action: go to shelf 1", "Action: take mug 1 from shelf 1"]
  - match: stuck
    reply: "Action: look"
replies: [one, two words]
default: yes
"""


def conversation(system: str, *said: str) -> list[Message]:
    """A system message, then user and assistant in turn."""
    turns = [Message("assistant" if number % 2 else "user", text) for number, text in enumerate(said)]
    return [Message("system", system), *turns]


def complete(file: Path, messages: Sequence[Message], **arguments: object) -> Completion:
    return asyncio.run(make_model(f"scripted:{file}").complete(Request(messages, **arguments)))  # type: ignore[arg-type]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.yaml"
    file.write_text(SCRIPT, "utf-8")
    return file


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        (conversation("You plan.", "Task. Write the plan."), "Thought: easy.\nPlan:\n1. find a mug\n"),
        (conversation("You plan.", "Task.", "...", "Go on."), "two words"),
        (conversation("You act.", "Task."), "Action: go to shelf 1"),
        (conversation("You act.", "Task.", "...", "A mug."), "Action: take mug 1 from shelf 1"),
        (conversation("You act.", "Task.", "...", "A mug.", "...", "Done."), "yes"),
        (conversation("", "I am stuck"), "Action: look"),
        (conversation("", "Hello"), "one"),
        (conversation("", "Hello", "...", "Hello", "...", "Hello"), "yes"),
        ([], "one"),
    ],
)
def test_a_reply_is_a_function_of_the_conversation(script: Path, messages: list[Message], reply: str) -> None:
    assert complete(script, messages).text == reply


def test_words_count_as_tokens_and_limits_hold(script: Path) -> None:
    messages = conversation("You plan.", "Write the plan, please.")
    assert complete(script, messages).usage == Usage(6, 7)
    cut = complete(script, messages, max_tokens=2)
    assert (cut.text, cut.finish, cut.usage) == ("Thought: easy.", "length", Usage(6, 2))
    stopped = complete(script, messages, stop=["\n1.", "\nPlan"])
    assert (stopped.text, stopped.finish) == ("Thought: easy.", "stop")


def test_many_calls_at_once_get_what_each_gets_alone(script: Path) -> None:
    model = make_model(f"scripted:{script}")
    conversations = [conversation("You act.", *["..."] * (1 + 2 * (number % 3))) for number in range(50)]

    async def at_once() -> list[Completion]:
        return await asyncio.gather(*[model.complete(Request(messages)) for messages in conversations])

    async def in_turn() -> list[Completion]:
        return [await model.complete(Request(messages)) for messages in reversed(conversations)]

    assert asyncio.run(at_once()) == asyncio.run(in_turn())[::-1]


def test_it_declares_itself_deterministic_and_refuses_the_rest(script: Path) -> None:
    model = make_model(f"scripted:{script}")
    assert asyncio.run(model.capabilities()).deterministic
    with pytest.raises(Unsupported, match="log-probabilities"):
        complete(script, [], top_logprobs=1)
    with pytest.raises(Unsupported, match="score"):
        asyncio.run(score(model, [], ["a"]))
    asyncio.run(model.aclose())


def test_a_script_that_has_run_out_says_so(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text("replies: [only one]")
    with pytest.raises(ModelError, match=r"short\.yaml has no reply number 2") as caught:
        complete(file, conversation("", "a", "b", "c\n\u202e" * 1_000))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"{}", "says nothing"),
        (b"\xff", "UTF-8"),
        (b"replies: [a\nrules: b", "line 2: this is not valid YAML"),
        (b"default: \x00", "this is not valid YAML"),
        (b"{a: " * 5_000, "nested too deep"),
        (b"- a", "line 1: this must be a table"),
        (b"default: a\nreplys: [a]", "line 2: this field is not known. Did you mean 'replies'?"),
        (b"default: a\ndefault: b", "line 2: 'default' is there twice"),
        (b"replies: a", "line 1: this must be a list"),
        (b"replies:\n- a\n- {b: c}", "line 3: this must be text"),
        (b"replies:\n- a\n-", "this must be text"),
        (b"rules:\n- match: a", "line 2: a rule has either"),
        (b"rules:\n- {reply: a, replies: [b]}", "line 2: a rule has either"),
        (b"replies: &all [a, *all]", "line 1: YAML anchors and aliases"),
        (b"replies: [*nobody]", "line 1: YAML anchors and aliases"),
        (b"a: &b 1\nb: &b 2", "line 1: this field is not known"),
        (b"a: " + b"x" * (1 << 18), "it has more than 262,144 bytes"),
    ],
    ids=itertools.count(),
)
def test_a_damaged_script_is_named_with_its_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "script.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        make_model(f"scripted:{file}")
    assert str(file) in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("place", ["missing.yaml", "."])
def test_a_script_that_is_no_file_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        make_model(f"scripted:{tmp_path / place}")


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    file = tmp_path / "laughs.yaml"
    levels = "\n".join(f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 40))
    file.write_text(f"replies:\n  - &l0 [a]\n{levels}\n")
    with pytest.raises(ConfigurationError, match="line 3: YAML anchors and aliases"):
        make_model(f"scripted:{file}")


@given(st.binary(max_size=80) | st.text(alphabet="ab:-[]{}&*!|>'\"#? \n\treplisumtchdfow", max_size=80).map(str.encode))
def test_any_file_is_a_script_or_a_configuration_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("script") / "script.yaml"
    file.write_bytes(content)
    try:
        completion = complete(file, conversation("a", "b"))
    except (ConfigurationError, ModelError) as error:
        assert str(file) in str(error)
    else:
        completion.text.encode()

"""LoTa-Bench's planner and SayCan with a tiny random model: scores of all texts and of each are equal, and episodes end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.agents.lota.selector import DONE, fixed_skills, said
from housequest.agent.episodes import events
from housequest.agent.episodes.events import Event
from housequest.agent.models.base import Message
from housequest.agent.models.llama import installed
from housequest.agent.models.llama.model import LlamaModel
from housequest.worlds.alfworld.text import HOUSEHOLD
from housequest.worlds.base import World
from housequest.worlds.registry import make_world
from tests.agent.agents.lota.test_lota import calls, lived
from tests.agent.agents.test_agents import ended
from tests.agent.models.llama.test_model import EXACT, use
from tests.agent.models.tiny import write_tiny

TEXTS = tuple(said(text) for text in (*(skill.text for skill in fixed_skills(HOUSEHOLD).skills), DONE))
ASKED = [
    Message("system", "Robot: Good day."),
    Message("user", "Human: put a hot egg in fridge.\nRobot: 1."),
    Message("assistant", "find an egg,"),
    Message("user", "2."),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def play(path: Path, runtime: str, world: World, agent: str = "lota", most: int = 3, **settings: Any) -> list[Event]:
    return use(path, f"runtime={runtime}&slots=1&{EXACT}", lambda model: lived(world, model, agent, most=most, **settings))


@pytest.mark.skipif("llama-cpp-python" not in installed(), reason="needs llama-cpp-python")
@pytest.mark.parametrize("options", ["cache=on", "cache=off", "cache=on&slots=2", "cache=on&batch=1"])
def test_a_score_does_not_depend_on_what_is_scored_beside_it(tiny: Path, options: str) -> None:
    async def test(model: LlamaModel) -> None:
        exact = await model.score(ASKED, TEXTS)
        assert exact.usage.prompt is not None
        assert exact.usage.prompt < sum(map(len, TEXTS)) / 2, "what texts begin with alike is evaluated once"
        assert (await model.score(ASKED, TEXTS)).logprobs == exact.logprobs
        assert (await model.score(ASKED, TEXTS[::-1])).logprobs == exact.logprobs[::-1]
        for place in range(0, len(TEXTS), 1 if options == "cache=on" else 12):
            assert (await model.score(ASKED, [TEXTS[place]])).logprobs == (exact.logprobs[place],)

    use(tiny, f"runtime=llama-cpp-python&threads=1&{options if 'slots' in options else f'slots=1&{options}'}", test)


@pytest.mark.skipif("llama-cpp-python" not in installed(), reason="needs llama-cpp-python")
def test_scores_in_batches_are_nearly_those(tiny: Path) -> None:
    async def scores(model: LlamaModel) -> tuple[float, ...]:
        return (await model.score(ASKED, (*TEXTS, "", TEXTS[0], "x" * 200))).logprobs

    alone, batches, small = (
        use(tiny, f"runtime=llama-cpp-python&slots=1&{EXACT}&{more}", scores) for more in ("", "exact=off", "exact=off&batch=1")
    )
    assert batches == pytest.approx(alone, abs=1e-3)
    assert small == pytest.approx(alone, abs=1e-3)


@pytest.mark.skipif("llama-cpp-python" not in installed(), reason="needs llama-cpp-python")
def test_exact_and_saycan_score_alike_over_an_episode(tiny: Path, world: World) -> None:
    lota = play(tiny, "llama-cpp-python", world, exact=True, shots=1)
    saycan = play(tiny, "llama-cpp-python", world, "saycan", shots=1)
    assert ended(lota).boundary is ended(saycan).boundary is None
    assert len(calls(lota)) == len(calls(saycan)) >= 1
    for one, other in zip(calls(lota), calls(saycan), strict=True):
        assert one.candidates is not None
        assert one.candidates == other.candidates
        assert all(before.logprob >= after.logprob for before, after in pairwise(one.candidates))


@pytest.mark.parametrize("runtime", ["xllamacpp", "llama-cpp-python"])
def test_a_random_model_says_nothing_but_skills(tiny: Path, world: World, runtime: str) -> None:
    if runtime not in installed():
        pytest.skip(f"needs {runtime}")
    told = play(tiny, runtime, world, shots=1)
    assert ended(told).boundary is None
    assert calls(told)
    assert {call.reply for call in calls(told)} <= set(TEXTS)
    assert not [event for event in told if isinstance(event.body, events.ParseFailed)]


@pytest.mark.skipif("xllamacpp" not in installed(), reason="needs xllamacpp")
def test_a_runtime_without_scores_is_named_with_the_way_out(tiny: Path, world: World) -> None:
    told = play(tiny, "xllamacpp", world, "saycan")
    assert (ended(told).outcome, ended(told).boundary) == ("error", "configuration")
    assert "llama-cpp-python" in (ended(told).message or "")

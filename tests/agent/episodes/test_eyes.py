"""The grant ``view``: what an agent sees from where it stands goes along with its messages, and is drawn from what was told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import AskPerson
from housequest.agent.config import configure
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.drawing import SIZE
from housequest.agent.episodes.loop import play as play_openly
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.budget import Budget, BudgetTracker, Ledger, LedgerModel, Stopped
from housequest.agent.evaluation.runs.spec import RunSpec, make_run_spec
from housequest.agent.models.base import Image, Message, Model, Request
from housequest.agent.models.scripted import ReplyRule, ScriptedModel
from housequest.agent.setup import set_up
from housequest.worlds.alfworld.world import AlfworldWorld
from housequest.worlds.base import Observation, Task, World
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.room import Room, believed
from housequest.worlds.rooms.view import draw, gaze
from tests.agent.playing import LOOKING, Played, play
from tests.backends.policy import Solver
from tests.backends.server import Server, decoded, saying, seeing

pytestmark = pytest.mark.heavy

LONG = {"reasoner-actor", "pet"}
"""Agents whose game takes minutes."""

VIEW = frozenset({"view"})


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("alfworld")


def digest_of(png: bytes) -> str:
    rows = decoded(png)
    pixels = bytes(value for row in rows for pixel in row for value in pixel)
    return sha256(f"{len(rows[0])}x{len(rows)}\n".encode() + pixels).hexdigest()


def believed_digests(world: World, task: Task, played: Played) -> list[str]:
    """What is to be seen at the start and after each command, drawn from the texts alone."""
    household, room = world.household, world.room(task)
    assert household is not None
    assert room is not None
    found: list[str] = []
    for event in played.events:
        match event.body:
            case events.Started(opening=opening):
                belief = household.begin(Observation(opening))
            case events.Stepped() as step:
                belief = household.update(belief, step.command, Observation(step.observation, step.accepted))  # pyright: ignore[reportPossiblyUnboundVariable]
            case _:
                continue
        now = believed(room, belief)
        found.append(digest_of(draw(room, now, gaze(room, now), SIZE).png()))
    return found


def recorded(played: Played) -> list[list[str | None]]:
    """The pictures that each call added to its prompt, by their digests."""
    calls = (event.body for event in played.events if isinstance(event.body, events.ModelCall))
    return [[message.image for message in call.added if message.role == "user"] for call in calls]


@pytest.mark.parametrize("house", ["example:1", "generated:7"])
def test_each_message_has_what_is_seen_then(server: Server, world: World, tmp_path: Path, house: str) -> None:
    task = world.task(house)
    played = play(server, world, task, "react", tmp_path / "e.jsonl", grants=VIEW)
    assert played.ended.outcome == "won"
    seen = believed_digests(world, task, played)[:-1]
    added = recorded(played)
    assert len(added) == len(seen)
    for turn, (images, now) in enumerate(zip(added, seen, strict=True)):
        assert images == ([None] if turn and seen[turn - 1] == now else [now])
    last = played.requests[-1]
    assert [digest_of(png) for png in last.pngs] == [image for images in added for image in images if image]
    assert len(last.pngs) > 3
    # What pictures show is said once.
    assert last.text.count("Only what you have found out is drawn") == 1
    assert b"image_url" not in played.record
    assert b"base64" not in played.record


@pytest.mark.parametrize("agent", [pytest.param(agent, marks=[pytest.mark.slow] * (agent in LONG)) for agent in LOOKING])
def test_every_agent_that_looks_plays_with_pictures(server: Server, world: World, tmp_path: Path, agent: str) -> None:
    server.policy = Solver(wrong_first_plan=True)
    played = play(server, world, world.task("example:3"), agent, tmp_path / "e.jsonl", grants=VIEW)
    assert played.ended.outcome == "won"
    sent = [image for images in recorded(played) for image in images if image]
    assert sent
    known = set(believed_digests(world, world.task("example:3"), played))
    assert set(sent) <= known
    for request in played.requests:
        assert {digest_of(png) for png in request.pngs} <= known
        for one, other in zip(request.pngs, request.pngs[1:], strict=False):
            assert one != other, "what has not changed is not sent again"
    assert b'"image":null' not in played.record


def test_without_the_grant_nothing_is_sent(server: Server, world: World, tmp_path: Path) -> None:
    played = play(server, world, world.task("example:1"), "react", tmp_path / "e.jsonl")
    assert not any(request.pngs for request in played.requests)
    assert b'"image"' not in played.record


class Moved(AlfworldWorld):
    """The same houses, with their receptacles a little higher."""

    def room(self, task: Task) -> Room:
        found = super().room(task)
        return replace(found, fixtures=tuple(replace(one, box=one.box.moved(y=0.1)) for one in found.fixtures))


LINES = ("look", "go to fridge 1", "open fridge 1", "nonsense", "close fridge 1", "go to microwave 1")


def looker() -> Model:
    replies = tuple(f"Thought: so.\nAction: {line}" for line in LINES)
    return ScriptedModel([ReplyRule(replies=replies, reply="Action: inventory")], name="scripted:looker", images=True)


def test_a_resumed_episode_draws_again_what_was_seen(world: World) -> None:
    task, terms = world.task("example:1"), EpisodeConfig(world, VIEW, max_turns=8, model="scripted:looker")
    told: list[events.Event] = []

    def listen(event: object) -> None:
        if isinstance(event, events.Event):
            told.append(event)

    def agent(model: Model | None, _: AskPerson | None) -> object:
        return make_agent("react", world=world, model=model)

    asyncio.run(run_episode(world.open(task), make_agent("react", world=world, model=looker()), terms, listen))
    whole = list(told)
    for cut in range(1, len(whole), 3):
        told.clear()
        coming = resume_episode(world.open(task), agent, terms, whole[:cut], listen, model=looker())  # pyright: ignore[reportArgumentType]
        asyncio.run(coming)
        assert whole[:cut] + told == whole
    elsewhere = resume_episode(world.open(task), agent, replace(terms, world=Moved()), whole[:-1], listen, model=looker())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="the agent sees another picture than then"):
        asyncio.run(elsewhere)


def run_of(folder: Path, server: Server, **flags: object) -> RunSpec:
    given = {"agent": "react", "model": server.model(), "split": "generated", "limit": 4, "max_steps": 12, "grant": ["view"]}
    return make_run_spec(configure({**given, **flags}, folder))


def episodes(folder: Path) -> Mapping[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "episodes").iterdir()}


def test_runs_that_see_are_equal_bytes_for_any_number_of_workers_and_broken_off(server: Server, tmp_path: Path) -> None:
    server.probing = seeing
    spec = run_of(tmp_path, server)
    asyncio.run(run_batch(spec, tmp_path / "one"))
    asyncio.run(run_batch(spec, tmp_path / "eight", RunOptions(concurrency=8)))
    assert b'"image":"' in next(iter(episodes(tmp_path / "one").values()))
    assert episodes(tmp_path / "eight") == episodes(tmp_path / "one")
    with pytest.raises(Stopped):
        asyncio.run(run_batch(spec, tmp_path / "broken", RunOptions(concurrency=3), BudgetTracker(Budget(calls=9))))
    asyncio.run(run_batch(spec, tmp_path / "broken", RunOptions(concurrency=3)))
    assert episodes(tmp_path / "broken") == episodes(tmp_path / "one")


def test_what_pictures_are_said_to_show_is_part_of_a_run_that_sees(server: Server, tmp_path: Path) -> None:
    seeing_run, other = run_of(tmp_path, server), run_of(tmp_path, server, grant=[])
    assert seeing_run.manifest.prompts.keys() - other.manifest.prompts.keys() == {"eyes"}


def test_a_run_whose_model_sees_nothing_does_not_begin(server: Server, tmp_path: Path) -> None:
    server.probing = saying("ready")
    with pytest.raises(Unsupported, match="takes no images; name a vision model"):
        asyncio.run(run_batch(run_of(tmp_path, server), tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    assert not server.requests


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            {"agent": "expert"},
            r"The agent 'expert' looks at no pictures; take one that does \(react, ",
        ),
        ({"agent": "lota", "model": "openai:x"}, "The agent 'lota' looks at no pictures"),
        ({"agent": "reasoner-actor"}, "'builtin' takes no images; name a vision model, for example openai:NAME"),
        ({"agent": "react", "model": "llama:/x.gguf"}, "takes no images"),
        ({"agent": "react", "model": "openai:x", "set": {"exemplars": "own"}}, "reads text alone with exemplars; leave that"),
        ({"agent": "react", "model": "openai:x", "world": "scripted"}, "The world 'scripted' has no rooms that could be seen"),
    ],
)
def test_where_nothing_comes_of_it_it_is_refused(flags: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=sentence):
        set_up(configure({**flags, "grant": ["view"]}, tmp_path))


def test_a_model_that_sees_nothing_cannot_take_over(world: World, tmp_path: Path) -> None:
    setup = set_up(configure({"agent": "react", "model": "openai:x", "grant": ["view"]}, tmp_path), world)
    with pytest.raises(Unsupported, match="takes no images"):
        setup.with_model("llama:/x.gguf")


def test_a_person_has_the_view_of_the_screen(world: World, tmp_path: Path) -> None:
    setup = set_up(configure({"agent": "human", "grant": ["view", "type"]}, tmp_path), world)
    assert setup.grants == {"type"}


def test_a_world_without_rooms_says_so() -> None:
    scripted = make_world("scripted")

    async def told() -> list[events.Event]:
        agent = make_agent("react", world=scripted, model=looker())
        return [event async for event in play_openly(scripted, scripted.task("demo:1"), agent, grants=VIEW)]

    ended = asyncio.run(told())[-1].body
    assert isinstance(ended, events.Ended)
    assert (ended.outcome, ended.boundary) == ("error", "configuration")
    assert ended.message == "The world 'scripted' has no rooms that could be seen; leave out --grant view."


def test_a_program_that_plays_can_grant_it(world: World) -> None:
    async def told() -> list[events.Event]:
        agent = make_agent("react", world=world, model=looker())
        return [event async for event in play_openly(world, world.task("example:1"), agent, grants=VIEW, max_turns=3)]

    calls = [event.body for event in asyncio.run(told()) if isinstance(event.body, events.ModelCall)]
    assert [message.image is not None for call in calls for message in call.added] == [False, True, False, True]


@pytest.mark.parametrize(("lines", "takes"), [("images: true", True), ("images: false", False), ("", False)])
def test_a_scripted_model_takes_pictures_if_its_file_says_so(tmp_path: Path, lines: str, takes: bool) -> None:
    (tmp_path / "script.yaml").write_text(f"replies: ['Action: look']\n{lines}\n", "utf-8")
    flags = {"agent": "react", "model": f"scripted:{tmp_path}/script.yaml", "grant": ["view"]}
    setup = set_up(configure(flags, tmp_path))
    model = setup.make_model()
    assert model is not None
    with nullcontext() if takes else pytest.raises(Unsupported, match="takes no images"):
        asyncio.run(setup.check_model(model))


def test_a_script_whose_images_are_neither_true_nor_false_is_refused(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("replies: ['Action: look']\nimages: perhaps\n", "utf-8")
    setup = set_up(configure({"agent": "react", "model": f"scripted:{tmp_path}/script.yaml"}, tmp_path))
    with pytest.raises(ConfigurationError, match=r"script.yaml, line 2: this must be on or off, not 'perhaps'\."):
        setup.make_model()


def test_a_remembered_call_is_another_one_with_another_picture(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.jsonl")
    model = LedgerModel(looker(), "scripted:looker", "judge", ledger)

    def ask(image: Image | None) -> None:
        asyncio.run(model.complete(Request([Message("user", "what do you see?", image)])))

    for digest in ("a", "b", "a"):
        ask(Image(digest.encode(), digest))
    ask(Image(b"another zlib's", "a"))
    ask(None)
    assert len(ledger.calls) == 3
    assert Ledger(tmp_path / "calls.jsonl").calls == ledger.calls

"""What a screen shows: a pure function over events, the same lived or replayed, on whatever branch."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from housequest.agent.agents.spec import make_agent
from housequest.agent.base import Accept, Again, Play, Proceed, ProposalAnswer, Replace, Rewind, Unattended
from housequest.agent.episodes import events
from housequest.agent.episodes.config import EpisodeConfig
from housequest.agent.episodes.events import Body, CallTiming, Event, branch, with_beliefs
from housequest.agent.episodes.loop import run_episode
from housequest.agent.episodes.record import EpisodeRecorder, read_episode
from housequest.agent.evaluation.runs.usage import Tokens
from housequest.agent.models.registry import make_model
from housequest.knowledge.choosing import RuleBudget
from housequest.tui.episode.state import PERSON, CallTotals, EpisodeMoment, ShownRule, ViewState, apply, replayed
from housequest.worlds.registry import make_world
from tests.tui.recorded import long, started, step

SCRIPT = """
replies:
  - "Thought: let me look\\nAction: look"
  - "Thought: hm\\nAction: inventory"
  - "rubbish"
  - "more rubbish"
  - "Thought: \\U0001f95a\\nAction: fly away"
default: "Thought: once more\\nAction: look"
"""


@dataclass
class Live:
    """A listener that keeps what it is told, and a state that lives through it."""

    state: ViewState = field(default_factory=ViewState)
    told: list[Event | CallTiming] = field(default_factory=list[Event | CallTiming])

    def __call__(self, event: Event | CallTiming) -> None:
        self.told.append(event)
        self.state = apply(self.state, event)

    @property
    def events(self) -> list[Event]:
        return [event for event in self.told if isinstance(event, Event)]


class Meddler(Unattended):
    """A person who does a bit of everything: a hint, another command, asking again, a turn of their own, going back twice."""

    attended = True

    def __init__(self, live: Live) -> None:
        self.live = live
        self.went_back = 0

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> Proceed | Play | Rewind:
        if turn == 5 and self.went_back == 0:
            self.went_back = 1
            return Rewind(self._turns()[1])
        return Play("look") if turn == 3 else Proceed(("try the fridge",) if turn == 2 else ())

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        if turn == 4 and proposal != "inventory" and self.went_back:
            return Replace("inventory")
        asked = sum(isinstance(event.body, events.Intervened) and event.body.action == "again" for event in self.live.events)
        return Again("elsewhere") if turn == 1 and not asked else Accept()

    async def over(self, ended: events.Ended) -> Rewind | None:
        if self.went_back > 1:
            return None
        self.went_back = 2
        return Rewind(0)

    def _turns(self) -> list[int]:
        return [event.id for event in self.live.events if isinstance(event.body, events.Stepped | events.TurnSpent)]


def lived(reference: str, *, script: Path | None = None, meddled: bool = False, max_turns: int = 50) -> Live:
    """An episode of the expert, or of a scripted react, as it is lived through."""
    live = Live()
    world = make_world("alfworld")
    model = make_model(f"scripted:{script}") if script else None
    agent = make_agent("react" if script else "expert", world=world, model=model)
    terms = EpisodeConfig(
        world,
        max_turns=max_turns,
        model="scripted:script.yaml" if script else None,
        rules=RuleBudget.of_statements(("a rule",)),
    )
    overseer = Meddler(live) if meddled else None
    asyncio.run(run_episode(world.open(world.task(reference)), agent, terms, live, overseer))
    return live


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scripts") / "script.yaml"
    file.write_text(SCRIPT, "utf-8")
    return file


def assert_consistent(told: Sequence[Event]) -> None:
    """Replaying gives one and the same state, and each event's moment is that of its branch alone."""
    whole = replayed(told)
    half = len(told) // 2
    assert replayed(told[half:], replayed(told[:half])) == whole
    for position, event in enumerate(told):
        alone = replayed(branch(told[: position + 1]))
        assert whole.at(event.id).moment == alone.moment
        assert whole.at(event.id).last == event.id


@pytest.mark.parametrize("seed", [1, 690])
def test_a_recorded_episode_is_the_one_that_was_lived(seed: int, tmp_path: Path) -> None:
    live = lived(f"generated:{seed}")
    with EpisodeRecorder(tmp_path / "one.jsonl") as recorder:
        for event in live.told:
            recorder(event)
    told = list(with_beliefs(read_episode(tmp_path / "one.jsonl")))
    assert [event.belief for event in told] == [event.belief for event in live.events]
    assert replayed(told) == live.state
    assert_consistent(told)
    assert live.state.moment.ended is not None
    assert live.state.moment.ended.outcome == "won"
    assert live.state.moment.turn == live.state.moment.ended.turns
    assert live.state.moment.refused == live.state.moment.ended.refused
    assert not live.state.assisted
    assert live.state.model is None


@pytest.mark.parametrize("meddled", [False, True])
def test_an_episode_with_a_model_is_the_one_that_was_lived(script: Path, meddled: bool) -> None:
    live = lived("generated:3", script=script, meddled=meddled, max_turns=8)
    assert replayed(live.told) == live.state
    assert_consistent(live.events)
    assert live.state.totals.calls == sum(isinstance(event.body, events.ModelCall) for event in live.events)
    assert live.state.model == "scripted:script.yaml"
    assert live.state.moment.rules == (ShownRule("a rule"),)
    rewinds = sum(isinstance(event.body, events.Intervened) and event.body.action == "rewind" for event in live.events)
    assert (live.state.assisted, rewinds) == ((True, 2) if meddled else (False, 0))


def test_a_rewound_game_shows_what_was_true_there(script: Path) -> None:
    live = lived("generated:3", script=script, meddled=True, max_turns=8)
    back = next(event for event in live.events if isinstance(event.body, events.Intervened) and event.body.action == "rewind")
    assert back.parent is not None
    there, after = live.state.at(back.parent).moment, live.state.at(back.id).moment
    assert after.story == there.story
    assert after.belief == there.belief
    assert after.anchor == there.anchor == back.parent
    assert after.ended is None
    assert after.notes[-1].role == PERSON
    assert live.state.at(0).totals == CallTotals()
    assert live.state.at(back.id).totals.calls > live.state.at(back.parent).totals.calls


def test_what_is_new_is_told_from_a_turn_ago() -> None:
    live = lived("generated:690")
    steps = [event for event in live.events if isinstance(event.body, events.Stepped)]
    for before, after in pairwise(steps):
        assert live.state.at(after.id).moment.before == live.state.at(before.id).moment.belief
    spent = Event(id=10_000, parent=steps[-2].id, body=events.TurnSpent(turn=99))
    moment = apply(live.state, spent).moment
    assert moment.belief == moment.before
    assert moment.story[-1].command is None


def told(*bodies: Body) -> ViewState:
    """The state after ``bodies``, one the parent of the next."""
    chain = (Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies))
    return replayed(with_beliefs(chain))


def test_a_plan_its_steps_and_its_revision() -> None:
    first = events.Planned(role="reasoner", steps=("find", "take"), revision=0, reason="the beginning")
    state = told(first, events.Progressed(role="actor", step=1))
    assert (state.moment.plan, state.moment.step, state.moment.revision) == (("find", "take"), 1, 0)
    second = events.Planned(role="reasoner", steps=("ask",), revision=1, reason="stuck")
    state = told(first, events.Progressed(role="actor", step=1), second, events.TurnSpent(turn=1))
    assert (state.moment.plan, state.moment.step, state.moment.revision) == (("ask",), 0, 1)
    assert [aside.text for aside in state.moment.story[0].notes] == ["plan", "plan revised: stuck"]
    assert state.moment.story[0].replanned


def test_what_a_person_is_asked_about_comes_and_goes() -> None:
    failed = events.ModelFailed(turn=1, boundary="model", message="the endpoint is down")
    assert told(failed).moment.failure == "the endpoint is down"
    assert told(failed, events.Intervened(action="retry")).moment.failure is None
    proposed = events.Proposed(turn=1, command="look")
    assert told(failed, proposed).moment.failure is None
    assert told(proposed).moment.proposal == "look"
    assert told(proposed, events.Intervened(action="replace", text="go")).moment.proposal is None


def test_effort_grows_with_calls_and_their_clocks() -> None:
    call = events.ModelCall(role="actor", kept=0, added=(), reply="", finish="stop", prompt_tokens=100, completion_tokens=7)
    uncounted = events.ModelCall(role="actor", kept=0, added=(), reply="", finish="stop")
    state = told(call)
    state = apply(state, CallTiming(of=0, seconds=1.5, cached=80))
    state = apply(state, Event(id=1, parent=0, body=uncounted))
    state = apply(state, CallTiming(of=1, seconds=0.5))
    assert state.totals == CallTotals(calls=2, tokens=Tokens(100, 7, 80), seconds=2.0)
    assert state.at(0).totals == CallTotals(calls=1, tokens=Tokens(100, 7, 80), seconds=1.5)
    assert told(uncounted).totals.tokens.cached is None


def test_pictures_are_counted_once() -> None:
    said = tuple(events.PromptMessage(role="user", content="look", image=image) for image in (None, "a", "b"))
    call = events.ModelCall(role="actor", kept=0, added=said, reply="", finish="stop")
    assert told(call, call.model_copy(update={"added": said[:2]})).totals.images == 3


def test_another_model_is_the_present_one() -> None:
    state = told(*(events.Intervened(action="model", text=name) for name in ("openai:a", "openai:b", "openai:a")))
    assert state.models == ("openai:b", "openai:a")
    assert state.model == "openai:a"


@given(st.lists(st.integers(0, 12), max_size=12))
def test_a_story_is_that_of_its_branch_whatever_grows_beside_it(parents: list[int]) -> None:
    told, plain = [Event(id=0, body=started())], [list[int]()]
    for number, at in enumerate(parents, 1):
        told.append(Event(id=number, parent=at % number, body=step(number, "look")))
        plain.append([*plain[at % number], number])
    state = replayed(told)
    assert [[entry.id for entry in state.moments[event.id].story] for event in told] == plain


@pytest.mark.heavy
def test_a_long_episode_takes_room_for_its_turns_not_for_every_story_of_them() -> None:
    turns = 4_000
    said = (Event(id=at, parent=at - 1 if at else None, body=one.body) for at, one in enumerate(long(turns)))
    tracemalloc.start()
    try:
        state = replayed(said)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert state.moment.turn == turns
    assert peak < turns * 2_000  # a tuple of its own for each story would be 64 MB


def test_a_moment_that_never_was_is_refused() -> None:
    with pytest.raises(KeyError):
        ViewState().at(3)


_TEXT = st.text(max_size=30) | st.sampled_from(
    (
        "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1.\n\n"
        "Your task is to: put a hot egg in fridge.",
        "You arrive at cabinet 1. On the cabinet 1, you see a egg 1, and a cup 2.",
        "You open the fridge 1. The fridge 1 is open. In it, you see nothing.",
        "You pick up the egg 1 from the cabinet 1.",
        "Nothing happens.",
        "go to fridge 1",
        "\x1b[31m\u202e[bold]$goal[/]\x00",
    )
)
_WHOLE = st.integers(-3, 1 << 40)
_STARTED = st.builds(
    events.Started,
    world=st.sampled_from(("alfworld", "scripted", "?")),
    engine=_TEXT, task=_TEXT, split=_TEXT, number=_WHOLE, type=_TEXT, goal=_TEXT, wording=_TEXT, agent=_TEXT,
    settings=st.just({}), model=st.none() | _TEXT, rules=st.none(), grants=st.just(()),
    max_turns=_WHOLE, seed=_WHOLE, opening=_TEXT,
)  # fmt: skip
_BODIES: st.SearchStrategy[Body] = st.one_of(
    _STARTED,
    *(
        st.from_type(kind)
        for kind in (
            events.RulesShown,
            events.Progressed,
            events.ModelCall,
            events.ModelFailed,
            events.Intervened,
            events.Ended,
        )
    ),
    st.builds(events.Thought, role=_TEXT, text=_TEXT),
    st.builds(events.Planned, role=_TEXT, steps=st.lists(_TEXT, max_size=3).map(tuple), revision=_WHOLE, reason=_TEXT),
    st.builds(events.ParseFailed, role=_TEXT, reply=_TEXT, reason=_TEXT, final=st.booleans()),
    st.builds(events.Proposed, turn=_WHOLE, command=_TEXT),
    st.builds(events.Intervened, action=st.sampled_from(("rewind", "model", "hint")), text=_TEXT),
    st.builds(
        events.Stepped, turn=_WHOLE, command=_TEXT, observation=_TEXT, accepted=st.booleans(), explanation=st.none() | _TEXT
    ),
    st.builds(events.TurnSpent, turn=_WHOLE),
)


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Events in order of their ids, mostly each after the one before, otherwise with whatever parent."""
    bodies = draw(st.lists(_BODIES, max_size=12))
    first = draw(_STARTED)
    return [
        Event(id=number, parent=draw(st.just(number - 1) | st.none() | st.integers(-2, len(bodies) + 2)), body=body)
        for number, body in enumerate([first, *bodies])
    ]


@pytest.mark.heavy
@settings(max_examples=60)
@given(streams(), st.lists(st.builds(CallTiming, of=st.integers(-1, 14), seconds=st.floats(0, 100), cached=st.none() | _WHOLE)))
def test_any_events_give_a_state_and_change_none(stream: list[Event], clocks: list[CallTiming]) -> None:
    state = ViewState()
    for event in (*stream, *clocks):
        moments, totals_at, shown = dict(state.moments), dict(state.totals_at), repr(state)
        after = apply(state, event)
        assert (dict(state.moments), dict(state.totals_at), repr(state)) == (moments, totals_at, shown)
        assert apply(state, event) == after
        state = after
    assert_consistent(stream)


@given(st.lists(st.builds(Event, id=st.integers(), parent=st.none() | st.integers(), body=_BODIES), max_size=6))
@settings(max_examples=30)
def test_events_out_of_all_order_give_a_state(stream: list[Event]) -> None:
    state = replayed(stream)
    assert isinstance(state.moment, EpisodeMoment)
    assert set(state.moments) == {event.id for event in stream}

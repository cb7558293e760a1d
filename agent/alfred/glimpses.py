"""What a recorded agent made of its pictures: it is let play its record again, and watched meanwhile.

Neither pictures nor maps are recorded. The real loop runs over the real house, the model repeats its recorded replies, and
whatever differs from the record is an error: so what is shown is what the agent had before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from housequest.agent.agents.registry import agent_spec, make_agent
from housequest.agent.base import Agent, AskPerson, Glimpse, Watchable
from housequest.agent.episodes.drawing import recorded_game
from housequest.agent.episodes.events import Event, ModelCall, Started
from housequest.agent.episodes.loop import EpisodeConfig
from housequest.agent.episodes.overseer import ProposalAnswer, Stop, TurnAnswer, Unattended
from housequest.agent.episodes.resume import resume_episode
from housequest.agent.models.base import Capabilities, Completion, Model, Request
from housequest.worlds.errors import HousequestError, ModelError, Unsupported, shown
from housequest.worlds.registry import world_class


def glimpses(recorded: Sequence[Event]) -> Mapping[int, Glimpse]:
    """The impressions of a recorded episode, by the event after which the picture was seen; none for an agent without a camera.
    It takes about as long as the episode took without its model, so call it in a thread. Raises ``Unsupported``, with a
    sentence for people, where the episode cannot be played again."""
    started = recorded[0].body if recorded else None
    found: dict[int, Glimpse] = {}
    try:
        if not isinstance(started, Started) or not (
            world_class(started.world).pictured and agent_spec(started.agent).by_camera
        ):
            return found
        if started.rules is not None:
            raise Unsupported("the record does not hold the rules that the agent was shown.")
        world, task = recorded_game(started)
        if world.engine != started.engine:
            raise Unsupported(f"it was played with {shown(started.engine)}.")
        settings = {name: value for name, value in started.settings.items() if value is not None}
        silent = _Silent(started.model or "", recorded) if agent_spec(started.agent).needs_model_with(settings) else None

        def made(model: Model | None, question: AskPerson | None = None) -> Agent:
            return make_agent(started.agent, world=world, model=model, settings=settings, seed=started.seed, question=question)

        if not isinstance(made(silent), Watchable):
            return found
        config = EpisodeConfig(
            engine=started.engine,
            grants=frozenset(started.grants),
            max_turns=started.max_turns,
            seed=started.seed,
            model=started.model,
            habits=started.habits,
            settings=settings,
            curiosity=started.curiosity,
        )
        env = config.open(world, task)
        try:
            played = resume_episode(
                env,
                made,
                config,
                recorded,
                lambda _: None,
                _Over(),
                model=silent,
                world=world,
                watcher=lambda glimpse: found.update({glimpse.at: glimpse}),
            )
            asyncio.run(played)
        finally:
            env.close()
    except HousequestError as error:
        raise Unsupported(f"What the agent made of its pictures cannot be found out again: {error}") from error
    return found


class _Over(Unattended):
    """Ends the episode where its record ends."""

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
        del turn, possible
        return Stop()

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        del turn, proposal
        return Stop()


class _Silent(Model):
    """A model that says nothing beyond the record, and can do what that of the record could: agents ask otherwise by that."""

    def __init__(self, name: str, recorded: Sequence[Event]) -> None:
        self.name = name
        self._calls = [event.body for event in recorded if isinstance(event.body, ModelCall)]

    async def capabilities(self) -> Capabilities:
        scored = any(call.candidates for call in self._calls)
        plain = any(call.plain for call in self._calls)
        return Capabilities(
            chats=not plain,
            completions=plain,
            log_probabilities=scored,
            scoring=scored,
            grammar=any(call.held for call in self._calls),
            images=True,
        )

    async def complete(self, request: Request) -> Completion:
        del request
        raise ModelError("the record ends here.")

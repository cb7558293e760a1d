"""A house of several players as a PettingZoo environment. Needs the extra ``zoo``: ``pip install "housequest[zoo]"``.

All players choose their commands at once, and then act in their order, so if two want one thing, the first takes it. With
``pettingzoo.utils.parallel_to_aec`` they choose one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from housequest.worlds.base import Step, World
from housequest.worlds.env import shared_house
from housequest.worlds.errors import ConfigurationError, OrderError, WorldError, shown
from housequest.worlds.gym_env import (
    CHARACTERS,
    LONGEST,
    TextSpace,
    checked_limit,
    checked_text,
    tasks_of,
    world_for,
)
from housequest.worlds.shared import WAIT, Shared, checked_players, known_player

try:
    from gymnasium.utils.seeding import np_random

    # By name, since type checkers may run without the extra.
    _zoo: Any = import_module("pettingzoo")
except ImportError as error:
    needed = 'housequest.worlds.zoo_env needs PettingZoo; install it with: pip install "housequest[zoo]"'
    raise ModuleNotFoundError(needed, name=error.name) from error

Told = dict[str, dict[str, Any]]
"""The ``info`` of each player."""


class HousequestParallelEnv(_zoo.ParallelEnv):
    """The tasks of one split for two to four players in one house. A reset plays a task drawn with the seeded generator, or
    ``task`` if given, or ``options={"task": ...}`` for one episode. Observations and actions are text; a player observes the
    answer to its own command. ``info["news"]`` is what it has noticed of the others since then; ``info`` also has
    ``admissible_commands``, ``won``, ``goal`` and ``task``. Everybody gets 1.0 in the round that wins, else 0.0; winning
    terminates, and ``max_rounds`` truncates. Players without an action wait. All other options are the world's (see
    `make_world`). Raises ``ConfigurationError`` for invalid settings, ``Unsupported`` if the world is for one player alone, and
    ``WorldError`` for a text outside the observation space."""

    metadata: dict[str, Any] = {"name": "housequest_v0", "render_modes": ["ansi"], "is_parallelizable": True}  # noqa: RUF012

    def __init__(
        self,
        world: World | str = "alfworld",
        split: str | None = None,
        task: str | None = None,
        *,
        players: Sequence[str] = ("Ann", "Bob"),
        max_rounds: int = 50,
        render_mode: str | None = None,
        charset: str = CHARACTERS,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigurationError(f"There is no render mode {shown(render_mode)}; known: ansi, or none.")
        self.world = world_for(type(self), world, options)
        self.tasks = tasks_of(self.world, split, task)
        self.possible_agents = list(checked_players(players))
        self.agents: list[str] = []
        self.max_rounds, self.render_mode = checked_limit("max_rounds", max_rounds), render_mode
        self.observation_spaces, self.action_spaces = (
            {player: TextSpace(LONGEST, min_length=0, charset=charset) for player in self.possible_agents} for _ in range(2)
        )
        self._house: Shared | None = None
        self._rounds, self._shown, self._chance = 0, "", np_random()[0]

    def observation_space(self, agent: str) -> TextSpace:
        """The space of a player's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> TextSpace:
        """The space of a player's actions."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, str], Told]:
        """Start an episode: the opening and ``info`` of each player."""
        if seed is not None:
            self._chance = np_random(seed)[0]
        named = (options or {}).get("task")
        task = self.tasks[int(self._chance.integers(len(self.tasks)))] if named is None else self.world.task(str(named))
        self.close()
        self._house = house = shared_house(self.world, task, self.possible_agents)
        self.agents, self._rounds = list(self.possible_agents), 0
        openings = house.reset()
        self._shown = openings[self.agents[0]].observation.text
        return {player: self._text(player, openings[player]) for player in self.agents}, self._infos(house, won=False)

    def step(
        self, actions: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, float], dict[str, bool], dict[str, bool], Told]:
        """Execute a round: observations, rewards, terminations, truncations and ``info``, for each player still in the game.
        Raises ``OrderError`` outside an episode."""
        house, players = self._house, self.agents
        if house is None or not players:
            raise OrderError("No episode is being played; call reset() first.")
        for player, action in actions.items():
            known_player(players, player)
            if not isinstance(cast("object", action), str):
                raise WorldError(f"An action is text, not {shown(action)}.")
        told, won, lines = dict.fromkeys(players, ""), False, list[str]()
        for player in players:
            command = actions.get(player, WAIT)
            step = house.step(player, command)
            told[player], won = self._text(player, step), step.won
            lines += [f"{player}> {command}", told[player]]
            if won:
                break  # the others do not act any more
        self._rounds, self._shown = self._rounds + 1, "\n".join(lines)
        truncated = not won and self._rounds >= self.max_rounds
        infos = self._infos(house, won=won)
        self.agents = [] if won or truncated else players
        return (
            told,
            dict.fromkeys(players, float(won)),
            dict.fromkeys(players, won),
            dict.fromkeys(players, truncated),
            infos,
        )

    def render(self) -> str | None:
        """The last round as text; None without a render mode."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the episode, if there is one."""
        if self._house is not None:
            self._house.close()
            self._house = None

    def _text(self, player: str, step: Step) -> str:
        return checked_text(self.observation_space(player), step.observation.text)

    def _infos(self, house: Shared, *, won: bool) -> Told:
        infos: Told = {}
        for player in self.agents:
            listed = house.admissible_commands(player)
            infos[player] = {
                "won": won,
                "admissible_commands": None if listed is None else list(listed),
                "news": list(house.news(player)),
                "task": house.task.reference,
                "goal": house.task.goal,
            }
        return infos

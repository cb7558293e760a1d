"""World names and how each is made; a world's code is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from worlds.base import Observation, World
from worlds.errors import ConfigurationError, nearest, shown

if TYPE_CHECKING:
    from worlds.household.belief import Belief


def _alfworld(habits: Path | None, **settings: Any) -> World:
    from worlds.alfworld.world import AlfworldWorld

    if habits is None:
        return AlfworldWorld(**settings)
    from worlds.alfworld.houses.own_habits import read_habits

    return AlfworldWorld(**settings, habits=read_habits(habits))


def _scripted(habits: Path | None, **settings: Any) -> World:
    from worlds.scripted import ScriptedWorld

    if habits is not None:
        raise ConfigurationError(f"The scripted world has no habits; leave out {shown(str(habits))}.")
    return ScriptedWorld(**settings)


_WORLDS: dict[str, Callable[..., World]] = {"alfworld": _alfworld, "scripted": _scripted}

PLANS = "alfred-plans"
"""What ``housequest eval`` takes beside worlds: `worlds.alfred`, where nothing is played."""


def world_names() -> tuple[str, ...]:
    """The worlds that can be made."""
    return tuple(_WORLDS)


def make_world(
    name: str = "alfworld",
    *,
    engine: str = "native",
    data: Path | None = None,
    goals: str = "template",
    habits: Path | str | None = None,
) -> World:
    """Make the world ``name``.

    ``engine`` picks who steps it, ``data`` where its files lie (else its own default), ``goals`` whose goal sentences are
    shown: ``template``, ``human``, ``human:N`` (annotator N) or ``human:seed=N``. ``habits`` is a file of habits for made-up
    houses (``worlds.alfworld.houses.own_habits``). Raises ``ConfigurationError``.
    """
    if name == PLANS:
        raise ConfigurationError(f"{PLANS} has plans to score and nothing to play; use `housequest eval --world {PLANS}`.")
    if name not in _WORLDS:
        known = ", ".join(_WORLDS)
        raise ConfigurationError(
            f"There is no world named {shown(name)}; known: {known}.{nearest(name, (*world_names(), PLANS))}"
        )
    own = None if habits is None else Path(habits)
    return _WORLDS[name](engine=engine, data=data, goals=goals, habits=own)


class BeliefReader(Protocol):
    """Puts together what a world's texts have told so far."""

    def begin(self, opening: Observation, /) -> Belief:
        """The belief after the opening text."""
        ...

    def update(self, belief: Belief, command: str, observation: Observation, /) -> Belief:
        """The belief after ``command`` was answered."""
        ...


def belief_reader(name: str) -> BeliefReader | None:
    """What reads the texts of the world ``name``; None where nothing does."""
    if name != "alfworld":
        return None
    from worlds.alfworld.text import reader as belief

    return belief

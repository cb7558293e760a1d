"""A person who types in plain text: they play, or steer an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from housequest.agent.base import (
    Accept,
    Again,
    Another,
    Play,
    Proceed,
    ProposalAnswer,
    Replace,
    Stop,
    Turn,
    TurnAnswer,
    Unattended,
)
from housequest.agent.episodes.events import Event, Planned, Progressed, Stepped, Thought
from housequest.agent.skills.language.answers import Mind
from housequest.agent.skills.language.candidates import read_candidate
from housequest.agent.skills.language.directions import Directions
from housequest.agent.skills.language.playing import PlayersLine, read_line
from housequest.agent.skills.language.sentences import Surroundings, read, read_alone
from housequest.tui import terminal
from housequest.tui.play.game import FORGET, ChosenGame
from housequest.tui.text import TextLayout, words
from housequest.worlds.base import Env, World
from housequest.worlds.household.belief import Belief
from housequest.worlds.shared import Seat

HELP = "help"
"""In company, the word for what one can type there; for a player alone, it is a command of some worlds."""
OK = "   ok? "
"""The prompt below a proposal."""


def forms_of(world: World, *, company: bool) -> list[str]:
    """The forms of what a person can type; more of them in company."""
    return [*(words("texts")["company_forms"].strip().splitlines() if company else ()), *world.info.manual.strip().splitlines()]


def answer_about(
    word: str, goal: str, possible: Callable[[], Sequence[str] | None], world: World, others: Sequence[str] = ()
) -> str | None:
    """The answer to a typed line about the game itself, played beside ``others``; None for a line that plays."""
    texts = words("texts")
    match word:
        case ":admissible" | ":a" | "??":
            commands = possible()
            verbs = groupby(commands or (), key=lambda command: command.partition(" ")[0])
            said = "\n".join(", ".join(one) for _, one in verbs)
            return "This world cannot list its commands." if commands is None else said
        case ":goal" | ":g":
            return goal
        case "quit" | "exit" | "q":  # no game has these words
            return "To leave, type :quit."
        case "":
            return ""
        case _ if word == "?" or word.startswith(":") or (others and word.lower() == HELP):
            forms = "\n".join(f"  {line}" for line in forms_of(world, company=bool(others)))
            said = f"; other words are said to {' and '.join(others)}" if others else ", or say what to do in your own words"
            return texts["help"].format(manual=forms, words=said)
        case _:
            return None


def _typed(prompt: str, about: Callable[[str], str | None], layout: TextLayout) -> Iterator[str]:
    """The typed lines up to that of a person who leaves, but for those ``about`` the game, which are answered at once."""
    while (line := terminal.read_line(prompt)) is not None and (said := line.strip()) not in (":quit", ":q"):
        told = about(said)
        if told is None:
            yield said
        elif told:
            terminal.show(["", *layout.wrapped(told, "     "), ""])


class TypedPlayer:
    """A person who types at a terminal or into a pipe, with the rest of their last orders."""

    def __init__(self, world: World, env: Env, layout: TextLayout) -> None:
        self._world, self._env, self._layout = world, env, layout
        self._played: tuple[str, ...] = ()
        self._told = ""
        self._orders: Directions | None = None
        self._asked: PlayersLine | None = None

    async def ask(self, turn: Turn) -> str | None:
        """The person's next command, None when they leave. On a terminal, lines can be edited and recalled."""
        if terminal.interactive():
            with suppress(ImportError):
                # The import makes lines editable.
                import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
        self._played += tuple(one.command for one in turn.transitions)
        self._told = turn.transitions[-1].observation.text if turn.transitions else self._told
        prompt = f"{turn.number:>2} > "
        if (command := self._next(turn)) is not None:
            if terminal.interactive():
                terminal.show(self._layout.painted("command", command, prompt, "     "))
            return command
        read = (self._read(said, turn) for said in _typed(prompt, self._about, self._layout))
        return next((command for command in read if command is not None), None)

    def _about(self, said: str) -> str | None:
        env = self._env
        others = [one for one in env.shared.players if one != env.player] if isinstance(env, Seat) else ()
        return answer_about(said, env.task.goal, env.admissible_commands, self._world, others)

    def _next(self, turn: Turn) -> str | None:
        """The next command of the last orders, unless one was refused."""
        orders, self._orders = self._orders, None
        if orders is None or turn.belief is None or not all(one.observation.accepted for one in turn.transitions):
            return None
        if (step := orders.next(turn.belief, "")) is None:
            return None
        command, self._orders = step
        return command

    def _read(self, said: str, turn: Turn) -> str | None:
        """The command of a line; None if an answer was enough, which costs no turn."""
        reader, asked = self._world.household, self._asked
        self._asked = None
        possible = self._env.admissible_commands() or ()
        # In company, other words go to the others.
        if turn.others or said in possible:
            return said
        picked = None
        if asked is not None and said.isdecimal() and 0 < int(said) <= len(asked.choices):
            said, picked = asked.said, asked.choices[int(said) - 1]
        if reader is not None and turn.belief is not None:
            scene = Surroundings(turn.belief, reader, self._env.task.goal, self._played)
            meant = read_line(said, scene, Mind(turns=turn.left), thing=picked)
        elif possible:
            manual, goal = self._world.info.manual, self._env.task.goal
            meant = read_candidate(said, possible, manual, goal, Mind(turns=turn.left), last=self._told, picked=picked)
        else:
            return said
        if meant.commands != (said,):
            terminal.show(self._layout.painted("dim", meant.shown, "     ", "       "))
        if not meant.commands:
            self._asked = meant if meant.choices else None
            return None
        self._orders = meant.orders
        return meant.commands[0]


class TypedOverseer(Unattended):
    """Asks a person at a terminal or a pipe about each proposal of the agent."""

    attended = True

    def __init__(self, game: ChosenGame, layout: TextLayout) -> None:
        self._game, self._layout = game, layout
        self._belief: Belief | None = None
        self._mind = Mind()
        self._told = ""
        self._declined = ""
        self._possible: tuple[str, ...] | None = None

    def notice(self, event: Event) -> None:
        """Remember the belief and the plan so far, for reading the person's words."""
        self._belief = event.belief or self._belief
        match event.body:
            case Planned(steps=steps):
                self._mind = replace(self._mind, plan=steps, step=0)
            case Progressed(step=step):
                self._mind = replace(self._mind, step=step)
            case Stepped(observation=text):
                self._told = text
            case Thought(text=text, answers=None):
                self._mind = replace(self._mind, aim=text)
            case _:
                pass

    async def before(self, turn: int, possible: tuple[str, ...] | None) -> TurnAnswer:
        """``Overseer.before``: ask the agent at once."""
        del turn
        self._possible = possible
        return Proceed()

    async def review(self, turn: int, proposal: str) -> ProposalAnswer:
        """``Overseer.review``: ask about the proposal until the person decides."""
        again = " (the same again: type another one, or press Enter)" if proposal == self._declined else ""
        terminal.show(self._layout.painted("command", f"{proposal}{again}", f"{turn:>2} ? ", "     "))
        while (said := self._line()) is not None:
            if (decided := self._verdict(said)) is not None:
                self._declined = proposal if isinstance(decided, Another) else ""
                return decided
        return Stop()

    async def failed(self, turn: int, message: str) -> TurnAnswer:
        """``Overseer.failed``: the person tries again, plays a command, or leaves."""
        del turn
        terminal.show(self._layout.painted("bad", f"{message} Enter tries again; a command is played instead.", "     "))
        said = self._line()
        return Stop(message) if said is None else Play(said) if said else Proceed()

    def _line(self) -> str | None:
        """The next line about the proposal, empty to accept it; None if the person leaves."""
        return next(_typed(OK, self._about, self._layout), None)

    def _about(self, said: str) -> str | None:
        if said in ("?", ":help"):
            return words("texts")["steering"]
        return answer_about(said, self._game.task.goal, lambda: self._possible, self._game.world) or None

    def _verdict(self, said: str) -> ProposalAnswer | None:
        """The decision on a proposal in a line; None if the line only waits."""
        household = self._game.world.household
        if not said:
            return Accept()
        if said in (self._possible or ()):
            return Replace(said)
        scene = Surroundings(self._belief, household, self._game.task.goal) if household and self._belief else None
        if household is None and self._possible and not self._game.hears_hints:
            read_so = read_candidate(
                said, self._possible, self._game.world.info.manual, self._game.task.goal, self._mind, last=self._told
            )
            if read_so.commands:
                return Replace(read_so.commands[0])
            if read_so.control is None and (read_so.asked or read_so.choices):
                terminal.show(self._layout.painted("dim", read_so.shown, "     "))
                return None
        if scene is not None and scene.commands.reads(said):
            told = read_line(said, scene, self._mind)
            terminal.show(self._layout.painted("dim", told.says, "     ") if told.says else ())
            return Replace(said) if told.commands else None
        match (read_alone(said) if scene is None else read(said, scene)).control:
            case "go on":
                return Accept()
            case "no" | "undo":
                return Another()
            case "stop" | "wait":
                terminal.show(self._layout.painted("dim", "It waits for you.", "     "))
                return None
            case "forget":
                return Again(FORGET)
            case None if self._game.hears_hints:
                return Again(said)
            case None:
                terminal.show(self._layout.painted("dim", words("texts")["hears_nothing"].format(self._game.agent), "     "))
                return None

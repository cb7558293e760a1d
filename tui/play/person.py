"""A person at the keyboard: asked for a command each turn, helped when they ask."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby

from agent.base import Turn
from tui import terminal
from tui.text import Look
from worlds.base import Env, World

QUIT = (":quit", ":q")
HELP = (":help", ":h", "?")
ADMISSIBLE = (":admissible", ":a", "??")
GOAL = (":goal", ":g")
LEAVING = ("quit", "exit", "q")

_HELP = """Type a command and press Enter. Commands have these forms:

{manual}

And for yourself, none of which spends a turn:
  ?   :help        this text
  ??  :admissible  every command that is possible now
      :goal        what to do, once more
      :quit        leave (so does Ctrl-D)"""


class Person:
    """Reads a person's commands from standard input. On a terminal, lines can be edited and called back."""

    def __init__(self, world: World, env: Env, look: Look) -> None:
        self._world = world
        self._env = env
        self._look = look

    async def ask(self, turn: Turn) -> str | None:
        """The next command; None when the person leaves."""
        while True:
            line = _read(f"{turn.number:>2} > ")
            word = line.strip() if line is not None else QUIT[0]
            if word in QUIT:
                return None
            if word in HELP or (word.startswith(":") and word not in ADMISSIBLE + GOAL):
                self._show(_HELP.format(manual=_indented(self._world.manual)))
            elif word in ADMISSIBLE:
                self._show(_by_verb(self._env.admissible_commands()))
            elif word in GOAL:
                self._show(self._env.task.goal)
            elif word in LEAVING:
                # No game knows these words; they would only cost the turn.
                self._show("To leave, type :quit.")
            elif word:
                return word

    def _show(self, text: str) -> None:
        terminal.show(["", *self._look.wrapped(text, "     "), ""])


def _by_verb(commands: tuple[str, ...] | None) -> str:
    """The commands, a line for each verb, so that they fit on a screen."""
    if commands is None:
        return "This world cannot list its commands."
    return "\n".join(", ".join(alike) for _, alike in groupby(commands, key=lambda command: command.partition(" ")[0]))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _read(prompt: str) -> str | None:
    if terminal.interactive():
        with suppress(ImportError):
            # Being imported is what makes lines editable.
            import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    return terminal.read_line(prompt)

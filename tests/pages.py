"""The pages that a user reads, in blocks: what is to be typed, what is shown, and what cannot be run here and why.

A comment on the line before a block says what is not so of every block:

- ``<!-- not run: REASON, REASON -->``: lines that show one of these reasons are checked in other ways. The others are run.
- ``<!-- file: NAME -->``: a file that the reader writes.
- ``<!-- output -->``: what the commands above it on the page print. ``...`` stands for lines that are left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in (README, *sorted((ROOT / "docs").rglob("*.md")))}
GENERATED = {"docs/reference/commands.md", "docs/reference/settings.md"}
"""Written from the code, which a test of its own holds."""
LANGUAGES = {"bash", "console", "python", "text", "toml", "yaml"}
LOCAL = "@http://localhost:8000/v1"
"""Where a page's reader has a model of theirs; the tests have their own there."""

REASONS = {
    "placeholder": r"\b(FILE|FOLDER|DIR|NAME)\b(?!@http://localhost)|\.\.\.|-shard-\*",  # stands for something of the reader's
    "endpoint": r"openai[:/](?!NAME@http://localhost:8000/v1)",  # a model behind an address
    "weights": r"llama:|\.gguf|\.weights|thresholds\.json",  # a file that only a model makes
    "released": r"alfworld_3prompts\.json|alfworld\.py",  # a file that a paper's authors released
    "install": r"(^|/| )pip install |-m venv |^\.venv/",
    "repository": r"^(\w+=\S+ )*make |python -m (scripts|pytest)",  # works on the clone that it stands in
    "extra": r"^inspect |--inspect|data export|^from (datasets|openenv|trl|ai2thor)\b|(thor|zoo_env) import"
    r"|^import (duckdb|p\w+s)$",
    "download": r"data download|alfred\.download",
    "cluster": r"sbatch|srun|--cluster",
    "demonstrations": r"--world alfred|runs/annotated",  # ALFRED's, which are not installed everywhere the games are
    "minutes": r"",  # takes too long
    "games": r"",  # the published games: run where they are
}
"""Why a line is not run, and how a line shows it."""

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^>]*) -->\n+)?(?:^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$|(?P<indented>(?:^    [^\n]*\n)+))",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A block of a page: ``mark`` is its comment, ``language`` is empty where it is only indented."""

    page: str
    line: int
    mark: str
    language: str
    code: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some of it is not run."""
        kind, _, said = self.mark.partition(":")
        return tuple(word.strip() for word in said.split(",")) if kind == "not run" else ()

    @property
    def commands(self) -> list[Command]:
        """What a shell is given, with what the page shows beneath it."""
        if self.language != "console":
            return []
        found: list[tuple[str, list[str]]] = []
        lines = iter(self.code.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command = command[:-1] + next(lines).lstrip()
                found.append((command, []))
            else:
                found[-1][1].append(line)
        return [Command(self, line, tuple(shown)) for line, shown in found]


@dataclass(frozen=True)
class Command:
    """A line for a shell."""

    block: Block
    line: str
    shown: tuple[str, ...] = ()

    @property
    def excuses(self) -> tuple[str, ...]:
        """Why it is not run."""
        return tuple(reason for reason in self.block.reasons if re.search(REASONS[reason], self.bare))

    @property
    def bare(self) -> str:
        """The line without its comment."""
        return re.split(r" +# ", self.line)[0]

    @property
    def words(self) -> list[str]:
        """The words of its first command, without variables in front."""
        words = list(takewhile(lambda word: word not in {"|", "&&", ";"}, shlex.split(self.line, comments=True)))
        while words and re.match(r"\w+=", words[0]):
            del words[0]
        return words

    @property
    def program(self) -> str:
        return Path(self.words[0]).name if self.words else ""


def blocks(page: str | None = None) -> Iterator[Block]:
    """All blocks of one page or of all, in order."""
    for name in PAGES if page is None else (page,):
        text = PAGES[name]
        for found in _BLOCK.finditer(text):
            at = found.start("code") if found["code"] is not None else found.start("indented")
            code = found["code"] if found["code"] is not None else found["indented"]
            yield Block(name, text.count("\n", 0, at), found["mark"] or "", found["language"] or "", code)


def commands(page: str | None = None) -> Iterator[Command]:
    """All lines for a shell."""
    for block in blocks(page):
        if block.page not in GENERATED:
            yield from block.commands

"""Transcripts on a page, as many as fit; the others become links to their records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from agent.episodes.events import ModelCall, Started
from agent.evaluation.analysis.transcript import Transcript, TranscriptNote, TranscriptTurn, aligned, read_transcript
from worlds.errors import ConfigurationError

MOST_TRANSCRIPTS = 12 << 20
"""The most characters of transcripts on a page, without model calls: with its tables, a page stays near 20 MB."""
MOST_CALLS = 4 << 20
"""The most characters of prompts and replies on a page; they are far longer than the rest of a transcript."""
LONGEST_LINE = 160
"""The most characters of a folded thought."""
MOST_SHARED = 64
LONGEST_SHARED = 40_000


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message of a prompt; ``shared`` is the number of a system message that the page already shows."""

    role: str
    content: str
    shared: int | None


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A model call, with what was added to the role's prompt since its last call."""

    role: str
    words: str
    messages: tuple[ShownMessage, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What led to a command."""

    asides: tuple[TranscriptNote, ...]
    calls: tuple[ShownCall, ...]

    @property
    def brief(self) -> bool:
        """Whether the notes fit on one line and need not be folded."""
        text = self.asides[0].text if len(self.asides) == 1 else "\n"
        return len(text) <= LONGEST_LINE and "\n" not in text


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn as the template takes it."""

    number: int
    before: TurnContext | None
    command: str | None
    observation: str
    accepted: bool
    explanation: str | None
    by: str


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """An episode as the template takes it; ``state`` is a CSS class."""

    started: Started | None
    turns: tuple[ShownTurn, ...]
    after: TurnContext | None
    outcome: str
    state: str

    @property
    def calls(self) -> bool:
        """Whether a model was called."""
        minds = [*(turn.before for turn in self.turns), self.after]
        return any(mind is not None and mind.calls for mind in minds)


class Episodes:
    """The transcripts of one page, within its size limits.

    After the first that does not fit, all others become links and their records are not read.
    """

    def __init__(
        self, environment: Environment, page: Path, transcripts: int = MOST_TRANSCRIPTS, calls: int = MOST_CALLS
    ) -> None:
        self._environment = environment
        self._page = page
        self._room = transcripts
        self._calls = calls
        self._shared: dict[str, int] = {}
        self._most = (transcripts, calls)
        self.embedded = 0
        self.with_calls = 0
        self.linked = 0

    @property
    def full(self) -> bool:
        """Whether the page takes no more."""
        return self.linked > 0

    @property
    def shared(self) -> list[str]:
        """The system messages that calls refer to, numbered from 1."""
        return list(self._shared)

    @property
    def bound(self) -> str:
        """What the page holds and its limits, in words."""
        transcripts, calls = (f"{most / (1 << 20):g} MiB" for most in self._most)
        most = f"A page holds at most {transcripts} of transcripts and {calls} of prompts and replies"
        if self.linked:
            return (
                f"{most}: {self.embedded} are here, and {self.linked} are links to their records, from where this page was "
                f"written. {self.with_calls} show prompts and replies."
            )
        if self.with_calls < self.embedded:
            return f"{most}. All {self.embedded} are here; {self.with_calls} of them show prompts and replies."
        return f"{most}. All {self.embedded} are here."

    def single(self, record: Path) -> Markup:
        """The transcript of ``record``, or a link to it."""
        if self.full:
            return self._link((record,))
        try:
            episode = self._shown(read_transcript(record))
        except ConfigurationError as error:
            return self._unread(error, (record,))
        return self._fitted("transcript.html", {"episode": episode}, episode.calls, (record,))

    def pair(self, records: tuple[Path, Path], names: tuple[str, str]) -> Markup:
        """Two transcripts of one task side by side, aligned by turn, or links to them."""
        if self.full:
            return self._link(records)
        try:
            told = [read_transcript(record) for record in records]
        except ConfigurationError as error:
            return self._unread(error, records)
        first, second = (self._shown(transcript) for transcript in told)
        beside = [tuple(turn and self._turn(turn) for turn in turns) for turns in aligned(*told)]
        values = {"first": first, "second": second, "aligned": beside, "names": names}
        return self._fitted("beside.html", values, first.calls or second.calls, records)

    def _fitted(self, template: str, values: Mapping[str, object], calls: bool, records: Sequence[Path]) -> Markup:
        parsed = self._environment.get_template(template)
        bare = parsed.render(values, calls=False, left=calls)
        if len(bare) > self._room:
            return self._link(records)
        self._room -= len(bare)
        self.embedded += 1
        if not calls:
            self.with_calls += 1
        elif self._calls > 0:
            whole = parsed.render(values, calls=True, left=False)
            more = len(whole) - len(bare)
            # After one that does not fit, no other is tried.
            self._calls = self._calls - more if more <= self._calls else 0
            if self._calls:
                self.with_calls += 1
                return Markup(whole)  # the template escaped it
        return Markup(bare)

    def _link(self, records: Sequence[Path]) -> Markup:
        self.linked += 1
        return self._links("Too much for this page; it is recorded in", records)

    def _unread(self, error: ConfigurationError, records: Sequence[Path]) -> Markup:
        self.embedded += 1
        self.with_calls += 1
        return self._links(f"{error} See", records)

    def _links(self, reason: str, records: Sequence[Path]) -> Markup:
        links = [(record.name, _address(record, self._page)) for record in records]
        return Markup(self._environment.get_template("linked.html").render(reason=reason, links=links))

    def _shown(self, transcript: Transcript) -> ShownEpisode:
        turns = tuple(self._turn(told) for told in transcript.turns)
        state = transcript.ended.outcome if transcript.ended else "stopped"
        return ShownEpisode(transcript.started, turns, self._mind(transcript.after), transcript.outcome, state)

    def _turn(self, told: TranscriptTurn) -> ShownTurn:
        before = self._mind(told.before)
        return ShownTurn(told.number, before, told.command, told.observation, told.accepted, told.explanation, told.by)

    def _mind(self, before: Sequence[TranscriptNote | ModelCall]) -> TurnContext | None:
        asides = tuple(each for each in before if isinstance(each, TranscriptNote))
        calls = tuple(self._call(each) for each in before if isinstance(each, ModelCall))
        return TurnContext(asides, calls) if before else None

    def _call(self, call: ModelCall) -> ShownCall:
        counts = (("read", call.prompt_tokens), ("written", call.completion_tokens))
        counted = [f"{count} tokens {what}" for what, count in counts if count is not None]
        kept = [f"after {call.kept} messages as before"] if call.kept else []
        ended = [] if call.finish == "stop" else [f"ended by {call.finish}"]
        messages = tuple(ShownMessage(each.role, each.content, self._number(each.role, each.content)) for each in call.added)
        return ShownCall(call.role, ", ".join(["called the model", *kept, *counted, *ended]), messages, call.reply)

    def _number(self, role: str, content: str) -> int | None:
        if role != "system" or len(content) > LONGEST_SHARED:
            return None
        if content not in self._shared and len(self._shared) < MOST_SHARED:
            self._shared[content] = len(self._shared) + 1
        return self._shared.get(content)


def _address(record: Path, page: Path) -> str:
    """The relative URL of ``record`` from ``page``, percent-encoded."""
    there = record.resolve()
    try:
        return "/".join([".", *(quote(part, safe="") for part in Path(os.path.relpath(there, page.resolve().parent)).parts)])
    except ValueError:  # another drive of Windows
        return there.as_uri()

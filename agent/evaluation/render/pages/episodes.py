"""Transcripts on a page, as many as fit; the others become links to their records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup

from housequest.agent.episodes.events import ModelCall, PromptMessage, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.transcript import aligned, model_calls, notes, transcribe
from housequest.agent.evaluation.render.pages.drawings import Drawings, EpisodeDrawings
from housequest.worlds.errors import ConfigurationError

LONGEST_LINE = 160
"""The most characters of a folded thought."""
MOST_SHARED = 64
LONGEST_SHARED = 40_000
_ROLES = ("reasoner", "actor", "react", "expert", "person")
"""Roles with their own colour in the style; others share one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most characters on a page of each part; with its tables, a page stays near 25 MB.

    Prompts and replies are far longer than the rest of a transcript. A drawing is some 2,000 characters, and takes 15 ms.
    """

    transcripts: int = 12 << 20
    calls: int = 4 << 20
    drawings: int = 6 << 20


class Episodes:
    """The transcripts of one page within its limits: after the first that does not fit, all become links and are not read."""

    def __init__(self, environment: Environment, page: Path, limits: Limits) -> None:
        filters: dict[str, Any] = {"asides": notes, "called": model_calls, "words": _call_words, "shared": self._number}
        filters |= {"fits": _fits, "line": _line, "role": _role}
        environment.filters.update(filters)
        self.environment = environment
        self._page = page
        self._limits = limits
        self._room = limits.transcripts
        self._calls = limits.calls
        self._shared: dict[str, int] = {}
        self.drawings = Drawings(environment, limits.drawings)
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
        transcripts, calls, drawings = (f"{most / (1 << 20):g} MiB" for most in astuple(self._limits))
        most = f"A page holds at most {transcripts} of transcripts, {calls} of prompts and replies, and {drawings} of drawings"
        some = f" {self.drawings.bound}" if self.drawings.bound else ""
        if self.linked:
            links = f"{self.linked} are links to their records, from where this page was written"
            return f"{most}: {self.embedded} are here, and {links}. {self.with_calls} show prompts and replies.{some}"
        called = f"; {self.with_calls} of them show prompts and replies" if self.with_calls < self.embedded else ""
        return f"{most}. All {self.embedded} are here{called}.{some}"

    def transcript(self, *records: Path, names: tuple[str, ...] = ()) -> Markup:
        """The transcript of one record, or of two beside each other under ``names``, aligned by turn; or links to them."""
        if self.full:
            return self._link(records)
        try:
            paths = [branch(list(read_episode(record))) for record in records]
        except ConfigurationError as error:
            self.embedded += 1
            self.with_calls += 1
            return self._links(f"{error} See", records)
        told = [transcribe(path) for path in paths]
        calls = [call for transcript in told for call in transcript.calls]
        for message in (message for call in calls for message in call.added):
            self._number(message)
        template = self.environment.get_template("transcript.html" if len(told) == 1 else "beside.html")
        values: dict[str, object] = {"episodes": told, "names": names, "aligned": aligned(told[0], told[-1])}
        bare = template.render(values, calls=False, left=bool(calls), drawings=[EpisodeDrawings()] * len(told))
        if len(bare) > self._room:
            return self._link(records)
        self._room -= len(bare)
        values["drawings"] = [self.drawings.of(path) for path in paths]
        bare = template.render(values, calls=False, left=bool(calls))
        self.embedded += 1
        if not calls:
            self.with_calls += 1
        elif self._calls > 0:
            whole = template.render(values, calls=True, left=False)
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

    def _links(self, reason: str, records: Sequence[Path]) -> Markup:
        links = [(record.name, _address(record, self._page)) for record in records]
        return Markup(self.environment.get_template("linked.html").render(reason=reason, links=links))

    def _number(self, message: PromptMessage) -> int | None:
        """The number of a system message under which the page shows it once; None for others, and for long or further ones."""
        if message.role != "system" or len(message.content) > LONGEST_SHARED:
            return None
        if message.content not in self._shared and len(self._shared) < MOST_SHARED:
            self._shared[message.content] = len(self._shared) + 1
        return self._shared.get(message.content)


def _fits(text: str) -> bool:
    """Whether a note fits on one line and need not be folded."""
    return len(text) <= LONGEST_LINE and "\n" not in text


def _role(name: str) -> str:
    return name if name in _ROLES else "other"


def _line(text: str) -> str:
    line = " ".join(text[: 4 * LONGEST_LINE].split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _call_words(call: ModelCall) -> str:
    """What a call read and wrote; its ``added`` messages are what is new in the role's prompt since its last call."""
    counts = (("read", call.prompt_tokens), ("written", call.completion_tokens))
    counted = [f"{count} tokens {what}" for what, count in counts if count is not None]
    kept = [f"after {call.kept} messages as before"] if call.kept else []
    ended = [] if call.finish == "stop" else [f"ended by {call.finish}"]
    return ", ".join(["called the model", *kept, *counted, *ended])


def _address(record: Path, page: Path) -> str:
    """The relative URL of ``record`` from ``page``, percent-encoded."""
    there = record.resolve()
    try:
        return "/".join([".", *(quote(part, safe="") for part in Path(os.path.relpath(there, page.resolve().parent)).parts)])
    except ValueError:  # another drive of Windows
        return there.as_uri()

"""The screen of a recorded episode: the panes of a live game, and a timeline."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from textual import events, work
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from housequest.agent.episodes.events import Ended
from housequest.agent.episodes.record import is_played, whole_of
from housequest.agent.evaluation.analysis.failures import Failure
from housequest.tui.desk.rule_dialog import teach
from housequest.tui.desk.witnesses import RuleProof
from housequest.tui.episode.branches_dialog import BranchChoice, BranchesDialog
from housequest.tui.episode.recording import Recording, ReplayStop, read_recording
from housequest.tui.episode.stage import EpisodePanes
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.episode.story import Story
from housequest.tui.keymap import TEACHING, Equipped
from housequest.tui.play.live_screen import PaneScreen
from housequest.tui.play.session import DEFAULT_PACE, next_pace
from housequest.tui.text import cut, one_line, plural, printable
from housequest.tui.widgets.keybar import KeyBar
from housequest.tui.widgets.lines import flat
from housequest.worlds.errors import ConfigurationError, Unsupported
from housequest.worlds.registry import enacts, household, info_of

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # turns a second
LONGEST = 300  # characters of a fault or of a reason that are shown
LOOKED = 0.5  # seconds between two looks at a record that may grow
JumpTarget = Literal["refused", "replanned", "skill"]
"""The turns to jump to: those with a refused command, with a new plan, or at which the agent began a skill."""
LABEL = 34  # columns of the words to the right of the line, where there is room for them
LOST, PLANNED, REFUSED = "!", "◆", "×"
_LOOKS = {LOST: ("lost here", "bold $fault"), PLANNED: ("plan", "$goal"), REFUSED: ("refused", "$fault")}
"""The words and the style of each mark. Where several fall together, the first of these is shown."""


class Timeline(Equipped, Widget):
    """Shows ``stops`` from the first to the last, with their marks; a click or a drag posts ``Went``."""

    @dataclass
    class Went(Message):
        place: int

    _stops: Sequence[ReplayStop] = ()
    _place = 0
    _speed = 1.0
    _playing = False
    _branch = ""
    _held = False

    def show(self, stops: Sequence[ReplayStop], place: int, speed: float, playing: bool = False, branch: str = "") -> None:
        """Be at ``place`` of ``stops``, at ``speed`` turns a second; ``branch`` says which one it is, of several."""
        self._stops, self._place, self._speed, self._playing, self._branch = stops, place, speed, playing, branch
        self.refresh()

    def render(self) -> Content:
        if not self._stops:
            return Content("")
        width = self._width
        last = max(1, len(self._stops) - 1)
        marks = defaultdict[int, set[str]](set)
        for place, stop in enumerate(self._stops):
            marks[round(place * (width - 1) / last)].update(_marks(stop))
        here = round(self._place * (width - 1) / last)
        line: list[tuple[str, str]] = []
        for column in range(width):
            mark = next((mark for mark in _LOOKS if mark in marks[column]), "")
            rail = ("━", "$quiet") if column < here else ("─", "$frame")
            line.append(("●", "bold $new") if column == here else (mark, _LOOKS[mark][1]) if mark else rail)
        sign = ("▶ ", "$new") if self._playing else ("‖ ", "$quiet")
        return Content.assemble(sign, *line, "  ", self._words())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._held = True
        self.capture_mouse()
        self._go(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held:
            self._go(event)

    def on_mouse_up(self) -> None:
        self._held = False
        self.release_mouse()

    def _go(self, event: events.MouseEvent) -> None:
        last = len(self._stops) - 1
        if last < 1:
            return
        column, width = event.x - 3, self._width
        if self._held or 0 <= column < width:
            place = min(last, max(0, round(column * last / max(1, width - 1))))
            if place != self._place:
                self.post_message(self.Went(place))

    @property
    def _width(self) -> int:
        label = self._words().cell_length
        return max(8, self.content_size.width - 4 - max(label, min(LABEL, self.content_size.width // 3)))

    def _words(self) -> Content:
        stop, last = self._stops[self._place], len(self._stops) - 1
        words = [f"turn {self._place} of {last}" if self._place else f"opening of {last} turns"]
        words += [f"{mark} {_LOOKS[mark][0]}" for mark in _marks(stop) if self._place]
        words += [self._branch] if self._branch else []
        return Content.assemble(" · ".join(words), (f" · {self._speed:g}/s", "$quiet"))


def _marks(stop: ReplayStop) -> list[str]:
    marks = {REFUSED: stop.refused, PLANNED: stop.replanned, LOST: stop.lost}
    return [mark for mark, holds in marks.items() if holds]


class ReplayScreen(PaneScreen, keys="replay"):
    """Replays ``path``: with ``speed`` at once, with ``at`` from that event on; ``still``: by hand, and no move is drawn.

    With a ``proof`` it begins at that step, and the rule stands above.

    The record of an episode that is being played elsewhere is followed: it is read again as it grows, and who is at its end
    stays there.
    """

    AUTO_FOCUS = "Story"

    def __init__(
        self,
        path: Path,
        speed: float | None = None,
        at: int | None = None,
        proof: RuleProof | None = None,
        *,
        still: bool = False,
    ) -> None:
        super().__init__()
        self.awaited = "The record is being read."
        self.panes = EpisodePanes(TEACHING["replay"])
        self.view = self.panes.view
        self.place = 0  # the turn that is shown; 0 is the opening
        self._recording = Recording(path, ViewState())
        self._branch = 0
        self._speed = speed or DEFAULT_PACE
        self._begins = speed is not None and not still
        self._proof = proof
        self._at = at if proof is None else proof.event
        self._still = still
        self._timer: Timer | None = None
        self._said = ""
        self._live = False
        self._seat: str | None = None

    def compose(self) -> ComposeResult:
        if self._proof is not None:
            yield Static(_proving(self._proof), id="replay-rule")
            self.panes.story.mark(self._proof.event, self._proof.words)
        yield self.panes
        yield Static(id="replay-note")
        yield Timeline()
        yield KeyBar()

    def on_mount(self) -> None:
        self.action_read()

    def facts(self) -> Mapping[str, object]:
        jumps: list[tuple[JumpTarget, int]] = [(what, by) for what in get_args(JumpTarget) for by in (1, -1)]
        return {
            **super().facts(),
            **{f"{what} {by}": partial(self._has_jump, what, by) for what, by in jumps},
            "turns": self.stops,
            "glimpses": self.view.glimpses,
            "rewound": len(self._recording.branches) > 1,
            "lost": self._failure is not None,
            "several": len(self._recording.players) > 1,
            "played": any(entry.command is not None for entry in self._moment.story),
        }

    @property
    def playing(self) -> bool:
        return self._timer is not None

    @property
    def stops(self) -> tuple[ReplayStop, ...]:
        """The turns of the branch that is shown; none before the record has been read."""
        return self._recording.branches[self._branch].stops if self._recording.branches else ()

    @property
    def _failure(self) -> Failure | None:
        return self._recording.branches[self._branch].failure if self._recording.branches else None

    @property
    def _moment(self) -> EpisodeMoment:
        return self._recording.state.moments[self.stops[self.place].id] if self.stops else EpisodeMoment()

    @property
    def _at_end(self) -> bool:
        return self.place == len(self.stops) - 1

    @property
    def _goes_on(self) -> bool:
        """True if the game is played now and not over; its window holds the record until it is left."""
        return self._live and not (self.stops and self._recording.state.moments[self.stops[-1].id].ended)

    @work(group="read", exclusive=True)
    async def action_read(self) -> None:
        """Read the record, and again whenever it has grown, until its episode has ended."""
        seen: tuple[bool, int | None] | None = None
        while True:
            now = await self.in_thread(partial(_looked_at, self._recording.path))
            if now != seen:
                seen = now
                self._live, size = now
                if size is None and (whole := whole_of(self._recording.path)).exists():
                    self._recording, self._live = replace(self._recording, path=whole), False
                await self._read()
            if self._still or self._recording.path.suffix != ".part":
                return
            await asyncio.sleep(LOOKED)

    async def _read(self) -> None:
        try:
            recording = await self.in_thread(partial(read_recording, self._recording.path, self._seat))
        except ConfigurationError as error:
            self.awaited = ""
            faults = ("This game is being opened in another window.",) if self._live else (str(error), "q leads back.")
            self._recording = replace(self._recording, faults=faults)
            self._note()
            return
        at_end, turns = self._at_end, len(self.stops)
        last = len(recording.branches) - 1
        self._branch = min(self._branch, last) if self.stops else last
        first, self._recording = not self._recording.events, recording
        self.awaited = ""
        started = recording.state.moment.started
        self.view.options = recording.options
        if started is not None:
            self.view.enacts = await self.in_thread(partial(enacts, started.world, started.engine))
            self.view.pictured = info_of(started.world).pictured
            self.view.drawable = self.view.pictured or household(started.world) is not None
            if first and (self.view.pictured or not self.view.drawable):
                self.begin_view()
        if self.view.pictured:
            self._look_again(recording)
        if (self._goes_on if first else at_end) and len(self.stops) > turns:
            self.place = len(self.stops) - 1
        self._show(self.place)
        # The turn it was asked to open at, once.
        event, self._at = self._at, None
        if event is not None:
            if spot := recording.spot(event):
                self._branch, place = spot
                self._show(place)
            else:
                self.say(f"This record has no turn at event {event}: it was replaced, or is damaged before it.")
        if self._begins:
            self._begins = False
            self.action_play()

    @work(group="glimpses", exclusive=True)
    async def _look_again(self, recording: Recording) -> None:
        from housequest.tui.episode.view_drawing import pictured_view

        try:
            self.view.glimpses = await self.in_thread(lambda: pictured_view().glimpses(recording.events))
        except (Unsupported, ConfigurationError) as error:
            self._recording = replace(recording, faults=(*recording.faults, str(error)))
        self._show(self.place)

    def _note(self) -> None:
        """Show what is wrong with the record, and what was said, else at the last turn how the episode ended."""
        lines = [Content.styled(printable(cut(fault, LONGEST)), "$fault") for fault in self._recording.faults]
        if self._said:
            lines.append(Content.styled(self._said, "$new"))
        elif self.stops and self._at_end:
            lines.append(_LIVE if self._goes_on else _ending(self._moment.ended, self._failure))
        self.set_class(bool(lines), "noted")
        self.query_one("#replay-note", Static).update(Content("\n").join(lines))

    def _show(self, place: int) -> None:
        if not self.stops:
            return
        self._said = ""
        self.place = min(max(0, place), len(self.stops) - 1)
        if self._at_end:
            self._pause()
        self.view.pace = None if self._still else self._speed
        self.panes.show(
            self._recording.state.at(self.stops[self.place].id),
            "LIVE" if self._goes_on else "REPLAY",
            watched=not self._goes_on,
        )
        self._note()
        self._show_timeline()
        self.refresh_bindings()

    def _show_timeline(self) -> None:
        branches = len(self._recording.branches)
        branch = f"branch {self._branch + 1} of {branches} (B: all)" if branches > 1 else ""
        self.query_one(Timeline).show(self.stops, self.place, self._speed, self.playing, branch)

    def on_timeline_went(self, message: Timeline.Went) -> None:
        self.action_go(message.place)

    def on_story_picked(self, event: Story.Picked) -> None:
        place = next((place for place, stop in enumerate(self.stops) if stop.id >= event.event_id), None)
        if place is not None:
            self.action_go(place)

    def action_move(self, by: int) -> None:
        self.action_go(max(0, self.place + by))

    def action_go(self, place: int) -> None:
        self._pause()
        self._show(place if place >= 0 else len(self.stops) - 1)

    def action_jump(self, what: JumpTarget, by: int) -> None:
        """Go to the next turn of this kind, or back to the last one."""
        if (place := self._jump(what, by)) is not None:
            self.action_go(place)

    def _jump(self, what: JumpTarget, by: int) -> int | None:
        """The place of the next turn of this kind in the direction ``by``; None if there is none."""
        stops, doing = self.stops, self.view.glimpses

        def skill(place: int) -> str:
            return doing[stops[place].spent].doing if stops[place].spent in doing else ""

        def counts(place: int) -> bool:
            if what == "skill":
                return bool(skill(place)) and (place == 0 or skill(place) != skill(place - 1))
            return stops[place].refused if what == "refused" else stops[place].replanned

        return next(filter(counts, range(self.place + by, len(stops) if by > 0 else -1, by)), None)

    def _has_jump(self, what: JumpTarget, by: int) -> bool:
        return self._jump(what, by) is not None

    def action_why(self) -> None:
        if self._failure is not None:
            self.action_go(self._failure.turn)

    def action_branch(self) -> None:
        self._branch = (self._branch + 1) % len(self._recording.branches)
        self.action_go(self.place)

    def action_branches(self) -> None:
        """Put the branches side by side, and go to the turn that is chosen there."""
        self._pause()
        self._show_timeline()
        self.ask(BranchesDialog(self._recording.branches, self.stops[self.place].spent, does="go there"), self._to_branch)

    def _to_branch(self, chosen: BranchChoice) -> None:
        branch, event = chosen
        self._branch = branch.number - 1
        self.action_go(next((place for place, stop in enumerate(self.stops) if stop.spent == event), 0))

    async def action_seat(self) -> None:
        """Show the same turn as another player knew it."""
        names, place = self._recording.players, self.place
        self._seat = names[(names.index(self._recording.seat or names[0]) + 1) % len(names)]
        await self._read()
        self.action_go(place)
        self.say(f"From the seat of {self._seat}; o goes to the next.")

    def action_play(self) -> None:
        """Play, from the beginning if at the end; or pause. While the moves of a command are drawn: show where they lead."""
        if self.view.moving and not self.playing:
            self.view.skip()
            return
        if self.playing:
            self._pause()
        elif len(self.stops) > 1:
            if self._at_end:
                self._show(0)
            self._play()
        self._show_timeline()

    def action_pace(self, by: int) -> None:
        self._speed = next_pace(SPEEDS, self._speed, by)
        if self.playing:
            self._play()
        self._show_timeline()

    def _play(self) -> None:
        self._pause()
        self._timer = self.set_interval(1 / self._speed, lambda: self._show(self.place + 1))

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def say(self, note: str) -> None:
        """Show ``note`` until the next move."""
        self._said = note
        self._note()

    def action_teach(self) -> None:
        teach(self, self._moment, self._recording.path)
        self._pause()

    def action_leave(self) -> None:
        self._pause()
        super().action_leave()


def _proving(proof: RuleProof) -> Content:
    rule, side = proof.rule, ("against", "bold $fault") if proof.against else ("for", "bold $won")
    about = f"  {flat(rule.statement)}", ("  The words that decide are marked.", "$quiet")
    return Content.assemble("A step ", side, " the rule ", (flat(rule.id), "bold"), *about)


def _looked_at(record: Path) -> tuple[bool, int | None]:
    """True if a record is being played, and its size; None where it is not there."""
    live = record.suffix == ".part" and is_played(record)
    try:
        return live, record.stat().st_size
    except OSError:
        return live, None


_LIVE = Content.styled("● It is being played in another window, and you watch it as it goes on.", "$new")
_ENDED = {"won": ("✓ Won in", "bold $won"), "lost": ("○ Lost after", "bold $goal"), "stopped": ("▪ Stopped after", "bold")}


def _ending(ended: Ended | None, failure: Failure | None) -> Content:
    if ended is None:
        return Content.styled("… The record ends here: the episode was interrupted, or goes on on another branch.", "$quiet")
    words, style = _ENDED.get(ended.outcome, ("! Broken off after", "bold $fault"))
    words += f" {plural(ended.turns, 'turn')}" + (f" by an error ({ended.boundary})" if ended.outcome == "error" else "")
    if ended.outcome == "won":
        return Content.styled(f"{words}.", style)
    if ended.outcome == "lost" and failure is not None:
        at = "" if failure.turn == ended.turns else f", turn {failure.turn} (w goes there)"
        why = Content.styled(printable(cut(failure.words, LONGEST)), "$quiet")
        return Content.assemble((f"{words}: {failure.label}{at}. ", style), why)
    why = one_line(ended.message or ended.reason, LONGEST)
    return Content.assemble((f"{words}: ", style), why)

"""What every screen with an episode shares: which pane is shown, which drawing of the View, and the true state."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from housequest.tui.base_screen import AppScreen
from housequest.tui.episode.stage import EpisodePanes, Pane
from housequest.tui.episode.view import CAMERA_MODES, ViewMode, ViewPane
from housequest.tui.home.catalogue import load_recent, save_recent

SAVING = Lock()  # held while a choice is saved, so that what is saved last is what was chosen last


class ViewScreen(AppScreen):
    """A screen with a ``view``. It begins with the drawing that was shown last, and keeps what is chosen."""

    view: ViewPane
    _chosen: ViewMode = "off"

    def show_view(self, mode: ViewMode) -> None:
        """Have the View show ``mode``, and make room for it."""
        self.view.choose(mode)
        self.set_class(self.view.mode != "off", "-drawn")

    def say(self, note: str) -> None:
        """Say something for a while; an empty text is nothing."""
        raise NotImplementedError

    def view_refusal(self) -> str | None:
        """Why there is nothing that the View could show; None where there is something."""
        return None if self.view.drawable else "There is no house to draw: this world's texts name no furniture."

    def true_refusal(self) -> str | None:
        """Why the true state cannot be shown now; None where it can."""
        return self.view_refusal() or ("The View is off: v shows it." if self.view.mode == "off" else None)

    def on_mount(self) -> None:
        self.begin_view()

    def begin_view(self) -> None:
        """Show the drawing that was shown last, in a world such as this one; none where there are no houses."""
        recent = load_recent().recent
        last = recent.camera if self.view.pictured else recent.view
        known: list[ViewMode] = [mode for mode in CAMERA_MODES if mode == last and self.view.drawable]
        self.show_view(known[0] if known else "off")

    def action_view(self) -> None:
        """Show the next drawing, and after the last one none."""
        if (why := self.view_refusal()) is None:
            self.show_view(self.view.next_mode)
            self._chosen = self.view.mode
            self.run_worker(self._keep(), group="view")
        self.say(why or "")

    def action_true_state(self) -> None:
        """Show the true state in place of what is believed, or that again."""
        if (why := self.true_refusal()) is None:
            self.view.toggle_true()
        self.say(why or "")

    async def _keep(self) -> None:
        pictured = self.view.pictured

        def keep() -> str:
            with SAVING:  # the screen may be gone by now, so nothing else is asked of it
                recent, chosen = load_recent().recent, self._chosen
                return save_recent(replace(recent, camera=chosen) if pictured else replace(recent, view=chosen))

        if trouble := await self.in_thread(keep):
            self.say(trouble)


class PaneScreen(ViewScreen):
    """A screen with one episode in ``panes``."""

    panes: EpisodePanes

    def show_view(self, mode: ViewMode) -> None:
        self.panes.draw(mode)

    def action_fold(self) -> None:
        self.panes.story.fold_all()

    def action_pane(self, pane: Pane) -> None:
        """Show a pane; the View is turned on for that."""
        if pane not in self.panes.panes:
            self.action_view()
        if pane in self.panes.panes:
            self.panes.show_pane(pane)

    def action_large(self) -> None:
        """Show one pane as large as the screen, or all that have room again."""
        self.panes.enlarge()

    def action_widen(self, by: int) -> None:
        """Make the panes beside the Story wider or narrower."""
        if not self.panes.widen(by):
            self.say("One pane is shown at a time here: there is none beside it to be wider.")

    def action_next_pane(self) -> None:
        """Go round the panes that there are."""
        there = self.panes.panes
        self.panes.show_pane(there[(there.index(self.panes.pane) + 1) % len(there)])

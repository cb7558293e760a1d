"""The driver of an app that is shown in a browser; Textual finds it by the environment that `housequest.tui.browser.server`
sets."""

from __future__ import annotations

from textual import events, messages
from textual.drivers.web_driver import WebDriver


class WindowDriver(WebDriver):
    """Textual's own, which also ends the app once its input has ended: a server that was killed leaves no games behind."""

    _focused = False

    def start_application_mode(self) -> None:
        super().start_application_mode()
        # Textual's driver begins without the focus, but the page may have reported it by now.
        self._app.call_later(self._focus)

    def _focus(self) -> None:
        if self._focused:
            self._app.post_message(events.AppFocus())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type in {"focus", "blur"}:
            self._focused = packet_type == "focus"
        super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        super().run_input_thread()
        self._app.post_message(messages.ExitApp())

"""The driver of an app that is shown in a browser; Textual finds it by the environment that `housequest.tui.browser.server`
sets."""

from __future__ import annotations

from textual import messages
from textual.drivers.web_driver import WebDriver


class WindowDriver(WebDriver):
    """Textual's own, which also ends the app once its input has ended: a server that was killed leaves no games behind."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        self._app.post_message(messages.ExitApp())

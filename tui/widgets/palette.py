"""The commands of the palette by groups, each in the order of its keys: what is used most comes first."""

from __future__ import annotations

from textual.command import DiscoveryHit, Hits
from textual.system_commands import SystemCommandsProvider


class KeyCommands(SystemCommandsProvider):
    """Textual's own, which lists them by their letters before anything is typed."""

    async def discover(self) -> Hits:
        """Every command of the screen, as it gives them."""
        for name, about, callback, discover in self.app.get_system_commands(self.screen):  # pyright: ignore[reportUnknownMemberType]
            if discover:
                yield DiscoveryHit(name, callback, help=about)

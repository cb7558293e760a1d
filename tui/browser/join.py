"""``housequest join``: a seat in somebody else's room, to which they invited you (extra ``[serve]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.play import Look, Moves, Pixels, show_screen
from housequest.worlds.errors import ConfigurationError

if TYPE_CHECKING:
    from housequest.tui.browser.guest_screen import GuestScreen


@options.described
def join(url: str, plain: bool = False, pixels: Pixels = "auto", moves: Moves = "on") -> None:
    """Take a seat in a room by the address of an invitation, and play with the person who invited you.

    The same command returns to the seat. Without a terminal, or with --plain, the game is in plain text.
    """
    import asyncio

    try:
        from housequest.tui.browser.seat import Invitation, game_of, seat_key
    except ImportError as error:
        raise ConfigurationError(
            f'A seat in a room needs {error.name}; install it with: pip install "housequest[serve]"'
        ) from None
    invitation = Invitation.read(url, seat_key())
    welcome = asyncio.run(invitation.accept())
    game = game_of(welcome)
    if not plain and terminal.has_screen():

        def screen() -> GuestScreen:
            from housequest.tui.browser.guest_screen import GuestScreen

            return GuestScreen(game, invitation, welcome.name)

        show_screen(screen, look=Look(pixels, moves))
        return
    from housequest.tui.browser.guest_plain import play_seat

    terminal.note(f"You are {welcome.name}. Type a command, or words for the other; ? shows help, :quit leaves.")
    asyncio.run(play_seat(game, invitation))

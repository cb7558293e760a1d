"""``housequest daily``: the house of the day, one try, and a result to share."""

from __future__ import annotations

from datetime import date

from housequest.tui import terminal
from housequest.tui.commands import options
from housequest.tui.commands.output import print_lines, show_screen
from housequest.tui.screens import game_screen
from housequest.worlds.errors import ConfigurationError


def daily(plain: options.PlainOption = False) -> None:
    """Play today's made-up house: the same for everyone, in one try.

    An unfinished game is resumed. Once it is over, this shows your result and how many days in a row you have won.
    """
    from housequest.tui.play.game import daily_game, daily_result, first_try, is_unfinished
    from housequest.tui.play.plain import play_game

    day = date.today()
    game, record = daily_game(day), first_try(day)
    if record is None or is_unfinished(record):
        if not plain and terminal.has_screen():
            show_screen(lambda: game_screen(game, "you", record))
        elif record is not None:
            raise ConfigurationError("You have begun today's house; its game goes on in a terminal, without --plain.")
        else:
            play_game(game)
        record = first_try(day)
    if record is None:
        terminal.note("No command was given, so today's house is still to be played.")
        return
    if is_unfinished(record):
        terminal.note("Today's house is not over yet; the same command goes on.")
        return
    print_lines(daily_result(day, record, game.world))
    terminal.note(f"The next house comes tomorrow. For practice: {terminal.command()} play {game.task.reference} --agent human")

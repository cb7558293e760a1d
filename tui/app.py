"""The app: themes, the command palette, which screen follows which message, and the keys that a person chose."""

from __future__ import annotations

import gc
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.console import RenderableType
from textual._compositor import ChopsUpdate
from textual._xterm_parser import XTermParser
from textual.actions import ActionParseResult, parse
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import Provider
from textual.dom import DOMNode
from textual.events import Event, Key, Resize
from textual.keys import Keys, _character_to_key  # pyright: ignore[reportPrivateUsage]
from textual.markup import escape
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from housequest.agent.config import FILE_NAME
from housequest.tui import theme
from housequest.tui.base_screen import AppScreen, OpenScreen
from housequest.tui.keymap import APP, Equipped, group_of, name_of
from housequest.tui.screens import SCREENS, screen_class
from housequest.tui.widgets.keybar import EarlyKeys
from housequest.tui.widgets.pixels import NUDGE, NUDGES, CellSize, PictureLayer
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import config_folder, read_file

if TYPE_CHECKING:
    from housequest.tui.play.live_screen import LiveScreen
    from housequest.tui.play.session import Session
    from housequest.tui.widgets.pixels import Answered

ScreenFactory = Callable[[], Screen[Any]]


def _palette() -> type[Provider]:
    from textual.command import DiscoveryHit, Hit, Hits
    from textual.system_commands import SystemCommandsProvider

    class KeyCommands(SystemCommandsProvider):
        async def discover(self) -> Hits:
            # In the order of their keys, one line each; Textual would sort them by name and add a second line.
            for name, key, callback, _ in self.app.get_system_commands(self.screen):  # pyright: ignore[reportUnknownMemberType]
                yield DiscoveryHit(_listed(escape(name), key), callback, text=name)

        async def search(self, query: str) -> Hits:
            matcher = self.matcher(query)
            for name, key, callback, _ in self.app.get_system_commands(self.screen):  # pyright: ignore[reportUnknownMemberType]
                if (match := matcher.match(name)) > 0:
                    yield Hit(match, _listed(matcher.highlight(name).markup, key), callback, text=name)

    return KeyCommands


def _listed(does: str, key: str) -> str:
    """A line of the palette in markup: the effect of a key, then the key."""
    return f"{does}  [$text-muted]{escape(key)}[/]" if key else does


COLLECTED = (5_000, 5, 10)  # collections of garbage once the first screen is shown (`gc.set_threshold`): frequent and short


class HousequestApp(Equipped, App[None], keys="app"):
    """``start`` makes the first screen, ``home`` the next one; without ``home``, the app exits after the first. ``answered`` is
    the terminal's answer to the question about pixels. With ``moves``, the View shows players walking."""

    TITLE = "housequest"
    DEFAULT_CSS = "HousequestApp ToastRack { dock: top; align: right top; margin: 0 1 0 0; }"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}

    def __init__(
        self, start: ScreenFactory, home: ScreenFactory | None = None, answered: Answered | None = None, *, moves: bool = True
    ) -> None:
        super().__init__()
        self.graphics = answered and answered.graphics
        self.layer = PictureLayer()
        self._nudges: list[Timer] = []
        self._typed = answered.typed if answered else b""
        self.moves = moves
        # Before any screen is made: their style sheets use the themes' variables.
        theme.register_themes(self)
        self.animation_level = "none"
        self._start = start
        self._home = home
        self.chosen_keys: Mapping[str, str] = {}
        self._sessions: dict[Session, None] = {}
        self._early = EarlyKeys()

    async def on_event(self, event: Event) -> None:
        # Every key comes here first, whatever has the focus.
        if isinstance(event, Key) and not event.is_forwarded:
            if (below := self._app_screen) is not None:
                below.hear(event.key)
            if self._early.drop(event, self.screen) or self._begins(event) or await self._answered(event):
                return
        await super().on_event(event)

    def _begins(self, key: Key) -> bool:
        return isinstance(self.screen, AppScreen) and self.screen.begins_line(key)

    async def _answered(self, key: Key) -> bool:
        """Return True if ``key`` opened a line or was refused: text that comes in one piece with it goes there, or nowhere."""
        screen = self.screen
        if not isinstance(screen, AppScreen) or isinstance(self.focused, Input):
            return False
        # With the keys that a person chose.
        bound = dict(screen._modal_binding_chain)[screen].key_to_bindings.get(key.key, ())  # pyright: ignore[reportPrivateUsage]
        action = next((each.action for each in bound if each.action in screen.OPENS_LINE), "")
        if action and (why := screen.refusal(action)):
            self._early.refuse(key, screen, why)
            return True
        return bool(action) and await self.run_action(action, screen)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run ``action``; where the screen refuses it, say why."""
        done = await super().run_action(action, default_namespace, namespaces)
        if not done and isinstance(default_namespace, AppScreen) and isinstance(action, str):
            if why := default_namespace.refusal(action):
                default_namespace.say(why)
            return bool(why)
        return done

    @property
    def _app_screen(self) -> AppScreen | None:
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, AppScreen)), None)

    async def action_quit(self) -> None:
        """Leave; where something would be lost, only when this is asked for twice."""
        typed = isinstance(self.focused, Input) and self.focused.value
        at_stake = "What you typed is not sent yet." if typed else ""
        for screen in self.screen_stack:
            at_stake = at_stake or getattr(screen, "at_stake", "")
        below = self._app_screen
        if not at_stake or below is None or below.confirmed(f"{at_stake} The same key once more leaves housequest."):
            self.exit()

    def choose_keys(self, chosen: Mapping[str, str]) -> None:
        """Let keys, by their ids, be others than usual."""
        self.chosen_keys = chosen
        self.set_keymap(dict(chosen))

    def get_key_display(self, binding: Binding) -> str:
        chosen = self.chosen_keys.get(binding.id or "")
        return super().get_key_display(binding if chosen is None else binding.with_key(chosen.partition(",")[0]))

    def on_mount(self) -> None:
        # COLORFGBG is "foreground;background", as numbers of colours, of which two are light.
        background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
        self.theme = theme.LIGHT if background in {"7", "15"} else theme.DARK
        self.push_screen(self._start())
        if self._typed and self._driver is not None:
            # First the keys typed while the terminal was asked, then all that come from now on.
            for event in XTermParser().feed(self._typed.decode("utf-8", "replace")):
                self._driver.process_message(event)

    def on_resize(self, event: Resize) -> None:
        # The page hides pictures of another size.
        self.layer.forget()
        if self.graphics is not None and event.pixel_size and event.size:
            cell = CellSize(event.pixel_size.width // event.size.width, event.pixel_size.height // event.size.height)
            self.graphics = self.graphics._replace(cell=cell)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        self.layer.painted = renderable.spans if isinstance(renderable, ChopsUpdate) else None
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]

    def _end_update(self) -> None:
        self.layer.follow(self._driver)
        super()._end_update()
        if self.graphics is not None and self.graphics.way == "kitty" and self._driver is not None:
            for one in self._nudges:
                one.stop()
            nudge = partial(self._driver.write, self.graphics.wrapped(NUDGE))
            self._nudges = [self.set_timer(seconds, nudge) for seconds in NUDGES]

    def on_ready(self) -> None:
        # A collection that walks much takes longer than a key press may: what was imported is walked no more, and the rest in
        # small parts. Not without a terminal, where one process may run many apps and would keep them all.
        if not self.is_headless:
            gc.freeze()
            gc.set_threshold(*COLLECTED)

    def recorded(self) -> list[Path]:
        """The records of the games that were played in this app, by their present names."""
        found = (session.record for session in self._sessions)
        return [path for path in found if path is not None and path.exists()]

    def on_live_screen_updated(self, message: LiveScreen.Updated) -> None:
        self._sessions[message.session] = None

    def ends_with(self, screen: Screen[Any]) -> bool:
        """Return True if the program ends once ``screen`` is left."""
        return self._home is None and screen in self.screen_stack[:2]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theme.theme_variables(dark=self.current_theme.dark)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: each key of ``screen`` that does something now, by groups, the most used first, the app's own last."""
        keys = self._active_keys(screen)
        groups: dict[str, list[SystemCommand]] = {}

        def add(group: str, does: str, run: Callable[[], Any], key: str = "") -> None:
            groups.setdefault(group, []).append(SystemCommand(does, key, run))

        for key, node in keys:
            run = partial(self.run_action, key.action, node)
            add(group_of(parse(key.action)[1], node, screen), _does(key, node), run, self.get_key_display(key))
        at_desk = any(isinstance(each, AppScreen) and each.GROUP == "rules" for each in self.screen_stack)
        if not at_desk and all(key.action != "rules" for key, _ in keys):
            add("rules", "Open the rulebooks at the curator's desk", partial(self.on_open_screen, OpenScreen("books")))
        add(APP, "Light or dark", self.action_toggle_theme)
        add(APP, "Choose other colours", self.action_change_theme)
        add(APP, "List all keys that do something here", partial(self._list_keys, screen))
        last = groups.pop(APP)
        return [*chain.from_iterable(groups.values()), *last]

    def _active_keys(self, screen: Screen[Any]) -> list[tuple[Binding, DOMNode]]:
        """The keys that do something now, with what they act on, one for each action, and none of a widget of Textual's."""
        inner = screen.focused.ancestors_with_self if screen.focused else []
        ours = (node for node in inner if node not in {screen, self} and _has_keys(node))
        found: dict[str, tuple[Binding, DOMNode]] = {}
        for node in (screen, *ours):
            for key in Binding.make_bindings(node.BINDINGS):
                namespace, name, parameters = parse(key.action)
                if key.description and namespace != "app" and node.check_action(name, parameters):
                    found.setdefault(key.action, (key, node))
        return list(found.values())

    def action_toggle_theme(self) -> None:
        self.theme = theme.DARK if self.theme == theme.LIGHT else theme.LIGHT

    def on_app_screen_left(self) -> None:
        """Return to the previous screen; from the first one go home, or exit."""
        if len(self.screen_stack) > 2:
            self.pop_screen()
        elif self._home is not None:
            home, self._home = self._home, None
            self.switch_screen(home())  # pyright: ignore[reportUnknownMemberType]
        else:
            self.exit()

    def on_open_screen(self, message: OpenScreen) -> None:
        screen, below = screen_class(message.name)(*message.arguments), self._app_screen
        if message.instead:
            self.switch_screen(screen)  # pyright: ignore[reportUnknownMemberType]
            return
        self.push_screen(screen)
        if message.awaited and below is not None:
            below.awaited = ""

    async def _list_keys(self, screen: Screen[Any]) -> None:
        """List the keys of ``screen``; the chosen one is pressed."""
        from housequest.tui.base_screen import PickDialog

        keys = {self.get_key_display(key): (key, node) for key, node in self._active_keys(screen)}
        width = max(map(len, keys), default=0)
        lines = {f"{shown:>{width}}  {_does(key, node)}": (key.action, node) for shown, (key, node) in keys.items()}

        def chosen(line: str | None) -> None:
            if line is not None:
                self.call_later(self.run_action, *lines[line])

        self.push_screen(PickDialog("Keys", list(lines)), chosen)


def _has_keys(node: DOMNode) -> bool:
    """True if a widget has keys of ours, and not only those that Textual gives to all that scroll."""
    definer = next(each for each in type(node).__mro__ if "BINDINGS" in vars(each))
    return definer.__module__.startswith(f"{__package__}.")


def _does(key: Binding, node: DOMNode) -> str:
    return key.tooltip or (name_of(key, node) if isinstance(node, Screen) else key.description)


_TABLE = "keys"
_MODIFIERS = ("ctrl", "alt", "shift", "super", "meta", "hyper")


def all_keys() -> dict[str, tuple[Binding, ...]]:
    """The keys of the app and of every screen that can be changed; imports them all."""
    places = {"app": HousequestApp, **{name: screen_class(name) for name in SCREENS}}
    return {name: tuple(Binding.make_bindings(each.BINDINGS)) for name, each in places.items()}


def read_keymap() -> dict[str, str]:
    """The chosen keys by id, empty where none are. Raises ``ConfigurationError`` naming file and line."""
    path = config_folder() / FILE_NAME
    try:
        text = read_file(path).decode()
        table = tomllib.loads(text).get(_TABLE, {})
    except (OSError, ValueError):  # there is none; or reading the settings has said what is wrong with it
        return {}
    if not isinstance(table, dict):
        raise ConfigurationError(f'{path}:{_line(text)}: {_TABLE} is a table: [keys], then lines such as play.step = "s".')
    chosen = dict(_flat(cast("Mapping[str, object]", table)))
    if chosen:
        _check_keys(chosen, path, text)
    return {name: str(key) for name, key in chosen.items()}


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """The entries of a table and of the tables in it: ``[keys.play]`` and ``play.step`` mean the same."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            yield before + name, value


def _check_keys(chosen: Mapping[str, object], path: Path, text: str) -> None:
    places = all_keys()
    known = {key.id for keys in places.values() for key in keys if key.id}
    for name, key in chosen.items():
        where = f"{path}:{_line(text, name)}: {name}"
        if name not in known:
            raise ConfigurationError(
                f"{where}: there is no such key.{nearest(name, sorted(known))} docs/reference/keys.md lists them all."
            )
        if not isinstance(key, str) or not all(map(_is_key, key.split(","))):
            raise ConfigurationError(f"{where}: {shown(str(key))} is not a key; give one such as s, ?, f5, ctrl+s or shift+up.")
    for keys in places.values():
        holders: dict[str, Binding] = {}
        # A key of the app counts on every screen.
        for binding in dict.fromkeys((*keys, *places["app"])):
            for one in _normal(str(chosen.get(binding.id or "", binding.key))):
                other = holders.setdefault(one, binding)
                clash = [each.id for each in (other, binding) if each.id and each.id in chosen]
                if other.action != binding.action and clash:
                    name = min(clash)
                    rival = binding if other.id == name else other
                    raise ConfigurationError(
                        f"{path}:{_line(text, name)}: {name}: the key {shown(one)} is taken by {rival.id or rival.action}; "
                        "give another key, or change that one too."
                    )


def _normal(keys: str) -> list[str]:
    parts = [part.strip() for part in keys.split(",")] if keys != "," else [","]
    return [_character_to_key(part) if len(part) == 1 else part for part in parts]


def _is_key(text: str) -> bool:
    *modifiers, key = text.strip().split("+") if text.strip() != "+" else ["+"]
    named_key = key in {each.value for each in Keys} or re.fullmatch("[a-z]+(_[a-z]+)+|f[0-9]{1,2}", key) is not None
    return all(each in _MODIFIERS for each in modifiers) and (len(key) == 1 or named_key)


def _line(text: str, *name: str) -> int:
    """The number of the line that sets the table, or ``name`` in it: the first up to which the file sets it."""
    lines, sought = text.splitlines(keepends=True), ".".join((_TABLE, *name))
    for number in range(1, len(lines) + 1):
        with suppress(tomllib.TOMLDecodeError):  # within a value
            if sought in dict(_flat(tomllib.loads("".join(lines[:number])))):
                return number
    return 1

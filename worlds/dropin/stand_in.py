"""Puts the native engine behind the names of ``alfworld`` and ``textworld``; see `housequest.as_alfworld`.

`Finder` answers for these names as Python's own finders do for files, so that they can be reloaded and looked up. Of what the
packages have beyond the text games, some can be imported, so that a program starts, and says what it is if it is used; the rest
is missing, and importing it raises ``ModuleNotFoundError``.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import runpy
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from housequest.worlds.alfworld.games import GAME_FILE, LAYOUT
from housequest.worlds.dropin import config, core, env, games, peers
from housequest.worlds.dropin.playing import OLDER
from housequest.worlds.errors import ConfigurationError, Unsupported, nearest, shown
from housequest.worlds.paths import alfworld_data, atomic_write, cache_folder

ALFWORLD, TEXTWORLD = "0.4.2", "1.7.0"  # The versions that are stood in for.
_CONTENTS = Path(__file__).with_name("stand_in.toml")
_OURS = {"config": config, "core": core, "env": env, "games": games, "peers": peers}
_LOGIC = {"ALFRED_PDDL_PATH": ("alfred.pddl", "pddl_domain"), "ALFRED_TWL2_PATH": ("alfred.twl2", "grammar")}
_ABSENT = "is not in the stand-in: it belongs to what alfworld and textworld have beyond ALFWorld's text games"


_OPTIONS = ("--accept-put", "--thor", "-m", "-h", "--help")
_HELP = """\
Usage: python -m housequest.as_alfworld [--accept-put | --thor] SCRIPT [ARGUMENT...]
       python -m housequest.as_alfworld [--accept-put | --thor] -m MODULE [ARGUMENT...]

Run a program written for alfworld and textworld, unchanged, on housequest's engine. The games are those in ALFWORLD_DATA.
In your own program, `import housequest.as_alfworld` before either of them does the same.

  -m MODULE      run a module in place of a script
  --accept-put   play "put X in/on Y", which alfworld 0.4 refuses, as "move X to Y"
  --thor         leave alfworld alone, and stand in for ai2thor 2.1, for ALFWorld's ThorEnv and ALFRED's evaluation
  -h, --help     show this text
"""


class AbsentPart(Unsupported, NotImplementedError):
    """This part of alfworld or textworld has a name here, and nothing behind it."""


class Finder(MetaPathFinder, Loader):
    """Finds and fills the modules in ``stand_in.toml``."""

    def __init__(self) -> None:
        self.modules = tomllib.loads(_CONTENTS.read_text("utf-8"))

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /) -> ModuleSpec | None:
        del path, target
        if fullname not in self.modules:
            return None
        origin = Path(__file__).parent.joinpath(*fullname.split("."), "__init__.py")  # where the module would be
        spec = ModuleSpec(fullname, self, origin=str(origin), is_package=True)
        spec.has_location = True  # people look for files beside ``alfworld.__file__``
        return spec

    def exec_module(self, module: ModuleType) -> None:
        contents, name = vars(module), module.__name__
        for source, names in self.modules[name].items():
            for theirs, _, own in (one.partition("=") for one in names.split()):
                found = getattr(_OURS[source], own or theirs) if source in _OURS else _absent(name, *theirs.split("."))
                contents[theirs.partition(".")[0]] = found
        contents["__getattr__"] = _missing(name)
        if name in ("alfworld", "alfworld.info"):
            contents |= {"ALFWORLD_DATA": str(alfworld_data()), "__version__": ALFWORLD}
        if name == "textworld":
            contents["__version__"] = TEXTWORLD


def _absent(module: str, name: str, *methods: str) -> type:
    def refuse(*_: object, **__: object) -> None:
        raise AbsentPart(f"{module}.{name} {_ABSENT}.")

    return type(name, (), {"__module__": module, **dict.fromkeys(("__init__", *methods), refuse)})


def _missing(module: str) -> Callable[[str], object]:
    """The answer of a module about names that it lacks."""

    def get(name: str) -> object:
        if module in ("alfworld", "alfworld.info") and name in (*_LOGIC, "BUILTIN_DATA_PATH"):
            paths = {one: _logic(*part) for one, part in _LOGIC.items()}
            return str(paths.get(name) or paths["ALFRED_PDDL_PATH"].parent)
        raise AttributeError(f"{module}.{name} {_ABSENT}." if not name.startswith("__") else name)

    return get


def _logic(name: str, part: str) -> Path:
    """The path of ALFWorld's domain or grammar: with the games, as ``alfworld-download`` puts it, in an installed alfworld, or
    else written from a game into the cache. Without any, the first of these, so that opening it says what is missing."""
    installed = PathFinder.find_spec("alfworld")  # does not see our own stand-in
    folders = (installed and installed.submodule_search_locations) or []
    paths = [alfworld_data() / "logic" / name, *(Path(folder, "data", name) for folder in folders)]
    if there := next((path for path in paths if path.is_file()), None):
        return there
    logic = games.game_logic(map(str, (alfworld_data() / LAYOUT).glob(f"**/{GAME_FILE}")))
    if logic is None:
        return paths[0]
    atomic_write(written := cache_folder() / "logic" / name, logic[part].encode())
    return written


def stand_in() -> None:
    """Put the stand-ins where ``import`` looks first. Raises ``ConfigurationError`` if the real ones are imported already."""
    loaders = {
        name: getattr(sys.modules[name], "__loader__", None) for name in ("alfworld", "textworld") if name in sys.modules
    }
    if real := [name for name, loader in loaders.items() if not isinstance(loader, Finder)]:
        raise ConfigurationError(f"{real[0]} is imported already; import housequest.as_alfworld before it.")
    os.environ.setdefault("ALFWORLD_DATA", str(alfworld_data()))
    finder = next((one for one in sys.meta_path if isinstance(one, Finder)), None)
    if finder is None:
        sys.meta_path.insert(0, finder := Finder())
    for name in finder.modules:
        importlib.import_module(name)


def main(arguments: list[str]) -> None:
    """Run a script, or with ``-m`` a module, in place of this one; after ``--accept-put``, ``put X in/on Y`` is played."""
    if arguments[:1] == ["--accept-put"]:
        OLDER.accepted = True
        atexit.register(_tell_read)
        arguments = arguments[1:]
    match arguments:
        case ["-h" | "--help", *_]:
            print(_HELP)
        case ["-m", module, *_]:
            sys.path.insert(0, str(Path.cwd()))
            if not _exists(module):
                _refuse(f"There is no module {shown(module)} here.")
            sys.argv = arguments[1:]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [script, *_] if not script.startswith("-"):
            if not Path(script).exists():
                _refuse(f"There is no script {shown(script)}.")
            sys.argv = arguments
            sys.path.insert(0, str(Path(script).resolve().parent))
            runpy.run_path(script, run_name="__main__")
        case [option, *_] if option not in _OPTIONS:
            _refuse(f"There is no option {shown(option)}.{nearest(option, _OPTIONS)}")
        case ["-m"] | []:
            _refuse(f"Name a {'module after -m' if arguments else 'script'}.")
        case _:
            _refuse(f"{arguments[0]} goes first, and alone, before the script.")


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # a package on the way to it lacks something
        return False


def _refuse(why: str) -> NoReturn:
    print(f"{why} `python -m housequest.as_alfworld --help` says how this command is used.", file=sys.stderr)
    sys.exit(2)


def _tell_read() -> None:
    if not OLDER.read:
        return
    told = f"{OLDER.read} commands `put X in/on Y` were played as `move X to Y`; alfworld 0.4 refuses them"
    print(f"housequest.as_alfworld: {told}, so say so beside your results.", file=sys.stderr)

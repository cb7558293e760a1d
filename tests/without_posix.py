"""Run ``housequest`` without the modules and names that Windows lacks, as far as another system can pretend that.

``python -m tests.without_posix import`` imports every module of the core; other arguments are those of the command. Python
itself and packages guard what they use, so only our modules are refused an import. The names are taken away from all.
"""

from __future__ import annotations

import builtins
import importlib
import os
import pkgutil
import signal
import sys
from types import ModuleType
from typing import Any

from scripts.parts import parts

MODULES = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMES: dict[ModuleType, tuple[str, ...]] = {
    os: ("fork", "getuid", "geteuid", "getpgid", "killpg", "mkfifo", "sched_getaffinity", "setsid", "statvfs", "waitid"),
    signal: ("SIGHUP", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGWINCH", "pthread_sigmask"),
}
_found = builtins.__import__


def _refusing(name: str, variables: Any = None, *rest: Any) -> Any:
    asker = (variables or {}).get("__name__", "")
    if name in MODULES and asker.partition(".")[0] in {"housequest", "scripts"}:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _found(name, variables, *rest)


def import_all() -> None:
    """Import the core: all but the optional parts and what starts when it is imported."""
    import housequest

    left_out = tuple(module for modules in parts().values() for module in modules)
    for found in pkgutil.walk_packages(housequest.__path__, "housequest."):
        if not found.name.startswith(left_out) and not found.name.endswith(
            ("__main__", ".as_alfworld", ".gym_env", ".zoo_env")
        ):
            importlib.import_module(found.name)


def main() -> None:
    # What Python itself starts differently on Windows is loaded before.
    for name in ("asyncio", "concurrent.futures.process", "multiprocessing.resource_tracker", "subprocess", "textual.app"):
        importlib.import_module(name)
    builtins.__import__ = _refusing
    for module, names in NAMES.items():
        for name in names:
            vars(module).pop(name, None)
    if sys.argv[1:] == ["import"]:
        import_all()
    else:
        from housequest.tui.cli import main as run

        run()


if __name__ == "__main__":
    main()

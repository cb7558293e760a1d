"""`make bench` measures every figure that the project states; `make bench ARGS=engine` measures one, `rooms:walks` a part."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import alfworld_data

PARTS = (
    "engine",
    "expert",
    "startup",
    "reference",
    "doors",
    "houses",
    "households",
    "rooms",
    "screen",
    "rules",
    "expert_rules",
    "batch",
    "coverage",
    "streams",
    "prompts",
    "planners",
    "lota",
    "random_skills",
    "builtin",
    "card",
    "action_attention",
    "llama",
    "models",
    "gpu",
    "alfred_plans",
    "embodied",
    "graphs",
    "together",
    "sentences",
)


def main(wanted: list[str]) -> int:
    chosen = [name.partition(":") for name in wanted or PARTS]
    for name, _, part in chosen:
        known: Iterable[str] = PARTS if name not in PARTS else _parts(name)
        if (part if name in PARTS else name) not in ("", *known):
            print(f"There is no figure {part or name!r}; known: {', '.join(known) or 'none'}.", file=sys.stderr)
            return 2
    missed = False
    data = alfworld_data()
    games = data if (data / "json_2.1.1").is_dir() else None
    print(
        f"Python {platform.python_version()} on {platform.machine()}; games: {'there' if games else 'none (set ALFWORLD_DATA)'}"
    )
    for name, _, part in chosen:
        module = import_module(f"scripts.bench.{name}")
        print(f"\n{name}: {(module.__doc__ or '').splitlines()[0]}")
        try:
            for line in _parts(name)[part](games) if part else module.run(games):
                print(f"  {line}", flush=True)
        except ConfigurationError as error:
            print(f"  not measured: {error}", flush=True)
            missed = True
    return 2 if missed else 0


def _parts(name: str) -> Mapping[str, Callable[[Path | None], Iterable[str]]]:
    """The parts of a figure that can be measured alone; most have none."""
    return getattr(import_module(f"scripts.bench.{name}"), "PARTS", {})


sys.exit(main(sys.argv[1:]))

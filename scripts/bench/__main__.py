"""`make bench` measures every figure that the project states; `make bench ARGS=engine` measures one."""

from __future__ import annotations

import platform
import sys
from importlib import import_module

from worlds.paths import alfworld_data

PARTS = (
    "engine",
    "expert",
    "startup",
    "reference",
    "doors",
    "houses",
    "rooms",
    "screen",
    "rules",
    "expert_rules",
    "batch",
    "prompts",
    "planners",
    "lota",
    "builtin",
    "card",
    "llama",
    "alfred_plans",
)


def main(wanted: list[str]) -> int:
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"There is no figure {unknown[0]!r}; known: {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    data = alfworld_data()
    games = data if (data / "json_2.1.1").is_dir() else None
    print(
        f"Python {platform.python_version()} on {platform.machine()}; games: {'there' if games else 'none (set ALFWORLD_DATA)'}"
    )
    for name in wanted or PARTS:
        module = import_module(f"scripts.bench.{name}")
        print(f"\n{name}: {(module.__doc__ or '').splitlines()[0]}")
        for line in module.run(games):
            print(f"  {line}")
    return 0


sys.exit(main(sys.argv[1:]))

"""The reference worker for long sweeps, which caches repeated work.

    python -m scripts.parity.quick

It saves three things, none of which change the compared text, commands or outcome:

- textworld parses each template and each query with TatSu whenever it is used. A parse depends on the text alone, so it is kept
  (and copied where the parsed symbols are written to).
- Loading and then starting a game translates its PDDL twice. A translation depends on domain and problem alone, so the last
  one is kept.
- Each time a second, pruned translation is made for the planner that gives a policy, which is not used here. The planner gets
  the first one.

`python -m scripts.parity --plain` turns all three off.
"""

from __future__ import annotations

import importlib
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from housequest.worlds.dropin.reference import Reference, serve_game


def quick() -> Reference:
    """The reference, with its packages patched in this process."""
    reference = Reference()
    _keep_parses()
    _keep_translation()
    return reference


def _keep_parses() -> None:
    textgen: Any = importlib.import_module("textworld.envs.pddl.textgen")
    rule: Any = importlib.import_module("textworld.logic").Rule
    parse = textgen._parse_and_convert

    @cache
    def parsed(text: str, rule_name: str) -> Any:
        return parse(text, rule_name=rule_name)

    def copied(text: str, rule_name: str, **_tracing: object) -> Any:
        return deepcopy(parsed(text, rule_name))

    textgen._parse_and_convert = copied
    rule.parse_conjunctive_query = staticmethod(cache(rule.parse_conjunctive_query))


def _keep_translation() -> None:
    planner: Any = importlib.import_module("fast_downward")
    translate = planner.pddl2sas

    @lru_cache(maxsize=1)
    def translated(domain: str, problem: str) -> Any:
        return translate(domain, problem)

    def kept(domain: str, problem: str, **_purpose: object) -> Any:
        return translated(domain, problem)

    planner.pddl2sas = kept


if __name__ == "__main__":
    serve_game(quick)

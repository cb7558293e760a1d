"""ReAct as its authors played ALFWorld: two exemplars of the task's type, one line a reply, thoughts answered with "OK."."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

from housequest.agent.agents.react.window.agent import read_templates
from housequest.agent.roles.base import template_hashes
from housequest.knowledge.examples import Exemplars, exemplars_of, load_exemplars, shipped, written_exemplars
from housequest.worlds.errors import Unsupported
from housequest.worlds.household.base import Household
from housequest.worlds.options import Scalar
from housequest.worlds.paths import given_path

OWN = "own"


def read_exemplars(name: str, household: Household | None) -> Exemplars:
    """The exemplars ``own``, of the examples that ship, or those in a file. Raises ``KnowledgeError`` and ``Unsupported``."""
    if household is None:
        raise Unsupported("Exemplars are episodes in households; leave exemplars out, or play a household.")
    return _own(household) if name == OWN else load_exemplars(given_path(name), household)


@lru_cache(maxsize=2)
def _own(household: Household) -> Exemplars:
    return exemplars_of(shipped(), household)


def exemplar_digests(settings: Mapping[str, Scalar], household: Household | None) -> dict[str, str]:
    """The SHA-256 of the exemplars in react's ``settings``, and of the templates that they show. Raises as `read_exemplars`."""
    name, shown = settings.get("exemplars"), dict[str, str]()
    if isinstance(name, str) and name:
        text = written_exemplars(read_exemplars(name, household))
        shown = {"exemplars": sha256(text.encode()).hexdigest(), "exemplars/frame": template_hashes(__name__)["frame"]}
    elif settings.get("window"):
        shown = {"window": template_hashes("housequest.agent.agents.react.window")["window"]}
        if isinstance(theirs := settings.get("window_prompt"), str) and theirs:
            templates = read_templates(given_path(theirs))
            shown = {"window_prompt": sha256(f"{templates.first}\0{templates.later}".encode()).hexdigest()}
    return shown

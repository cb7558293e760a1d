"""A user's own prompt templates: a folder of files with the names and sections of those that ship.

A file that is missing there is as it ships. A run knows the templates by their digest, not by their folder. Each agent carries
its own, so agents with different ones can play at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from hashlib import sha256
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, TypeVar

from housequest.agent.base import Agent
from housequest.agent.roles.base import OWN, SECTION, Prompt, Templates, shipped_prompt
from housequest.worlds.errors import ConfigurationError, nearest, shown
from housequest.worlds.paths import given_path, read_file

A = TypeVar("A", bound=Agent)
LARGEST = 1 << 18
FREE = "system"
"""The section that may leave out ``$names``: it teaches a role its answers, and a paper's does so in its own way."""
_READ: dict[str, Templates] = {}
"""Templates by digest: a run keeps those that it read at its start, even if the folder changes."""


def templates(packages: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The package and name of each template in ``packages`` and their folders, by its name."""
    roots = {package: Path(str(resources.files(package))) for package in packages}
    files = ((package, file.relative_to(root)) for package, root in roots.items() for file in sorted(root.rglob("*.txt")))
    return {file.stem: (".".join((package, *file.parent.parts)), file.stem) for package, file in files}


def read_own(agent: str, given: str, packages: Iterable[str]) -> str:
    """Read the folder ``given``, and return the digest of the templates that it changes: "" if none. A digest is
    returned as it is. Raises ``ConfigurationError``.
    """
    if given in _READ:
        return given
    folder, known, found = given_path(given), templates(packages), dict[tuple[str, str], Prompt]()
    if not folder.is_dir():
        way_out = f"`housequest prompts write {agent} FOLDER` makes one of the prompts that ship"
        raise ConfigurationError(f"prompts: there is no folder {shown(given)}; {way_out}.")
    for file in sorted(folder.glob("*.txt")):
        if (place := known.get(file.stem)) is None:
            listed = f"known: {', '.join(sorted(known))}.{nearest(file.stem, list(known))}"
            raise ConfigurationError(f"{file}: the agent {agent!r} has no prompt of that name; {listed}")
        if (own := _read(file, shipped_prompt(*place), agent)) != shipped_prompt(*place):
            found[place] = own
    told = sorted((*place, own.digest) for place, own in found.items())
    digest = sha256(repr(told).encode()).hexdigest()[:12] if told else ""
    _READ[digest] = found
    return digest


def _read(file: Path, shipped: Prompt, agent: str) -> Prompt:
    """Replace sections of ``shipped`` by those of ``file``. Raises ``ConfigurationError``."""
    try:
        text = read_file(file, LARGEST).decode("utf-8-sig").replace("\r\n", "\n") + "\n"
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}.") from None
    headings, known = re.findall("^==.*", text, re.MULTILINE), [f"=== {name} ===" for name in shipped.sections]
    if (odd := next((line for line in headings if line not in known or headings.count(line) > 1), None)) or not headings:
        what = f"{shown(odd)} is no section, or a repeated one" if odd else "it has no section"
        raise ConfigurationError(f"{file}: {what}; known: {', '.join(known)}.{nearest(odd or '', known)}")
    if missing := [heading for heading in known if heading not in headings]:
        way_out = f"`housequest prompts write {agent} FOLDER` writes all of them, and `prompts show {agent}` what is sent"
        raise ConfigurationError(f"{file}: the section {missing[0]} is missing; {way_out}.")
    sections, [_, *parts] = dict(shipped.sections), SECTION.split(text)
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        given, filled = ({f"${each}" for each in Template(one).get_identifiers()} for one in (body, sections[name]))
        if not Template(body).is_valid() or given - filled or (filled - given and name != FREE):
            what = f"has {' '.join(sorted(given)) or 'no $name'} where {' '.join(sorted(filled)) or 'none'} is filled in"
            raise ConfigurationError(f"{file}: the section {name} {what}; a dollar sign is written $$.")
        # Spaces around a section are not sent, so they make no other prompt.
        sections[name] = sections[name].replace(sections[name].strip(), body.strip())
    return Prompt(sections)


@contextmanager
def using(own: str) -> Generator[None]:
    """Inside, the templates with the digest ``own`` replace those that ship; an empty digest changes nothing."""
    token = OWN.set(_READ.get(own) or OWN.get())
    try:
        yield
    finally:
        OWN.reset(token)


def carrying(own: str, make: Callable[[], A]) -> A:
    """Make an agent that always plays with the templates ``own``."""
    with using(own):
        agent = make()
    kind: Any = type(agent)

    def begin(self: A, *given: Any) -> Any:
        with using(own):
            return kind.begin(self, *given)

    async def decide(self: A, *given: Any) -> Any:
        with using(own):
            return await kind.decide(self, *given)

    if own in _READ:
        methods = {"__slots__": (), "begin": begin, "decide": decide}
        object.__setattr__(agent, "__class__", type(kind.__name__, (kind,), methods))
    return agent

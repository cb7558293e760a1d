"""A rulebook: a YAML file of rules that people and programs can both edit without losing each other's changes.

The library finds books by name or file: the user's own come before the shipped ones, which are read-only. Counted rules are
put into a book and refreshed there without changing what a person wrote or decided: a counted rule is sealed, since its origin
ends in a digest of its content. While the seal still fits and no person has judged the rule, it may be refreshed.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

from housequest.knowledge.page import Page, page_text, read_page, rewrite
from housequest.knowledge.rules import Origin, Rule, RuleField
from housequest.worlds.errors import KnowledgeError, nearest, shown, unquoted
from housequest.worlds.locks import InUse, held
from housequest.worlds.paths import atomic_write, data_folder, open_file, read_bounded, state_folder
from housequest.worlds.registry import DEFAULT_WORLD

LARGEST_FILE = 1_000_000
PATIENCE = 5.0
"""Seconds to wait for another command that is saving the same book."""
NEAR = 4
"""The number of ids that an error names if none is spelled like the one asked for."""
SUFFIX = ".yaml"
WITNESSES = "witnesses.zip"
"""Beside the books that ship: the records that they name as witnesses, as run/task.jsonl."""
MOST_BOOKS = 1_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rulebook:
    """A rulebook as a value, which ``save`` writes. ``read`` is the digest of the file when it was read, if there was one."""

    path: Path
    text: str = ""
    page: Page = field(default_factory=Page)
    read: str | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.page.rules

    @property
    def world(self) -> str:
        return self.page.world

    def require_world(self, world: str, way_out: str = "Use --rules none, or a book for {world}.") -> Rulebook:
        """Return this book. Raises ``KnowledgeError`` if its rules are about another world than ``world``."""
        if self.world != world:
            raise KnowledgeError(
                f"The rulebook {self.path.stem} is for {self.world}; this is {world}. {way_out.format(world=world)}"
            )
        return self

    def rule(self, name: str) -> Rule:
        """The rule with this id. Raises ``KnowledgeError`` naming the nearest."""
        found = next((rule for rule in self.rules if rule.id == name), None)
        if found is None:
            known = tuple(rule.id for rule in self.rules)
            near = get_close_matches(name[:200], known, NEAR, cutoff=0.0)
            rest = f"; `rules list` shows all {len(known)}" if len(known) > len(near) else ""
            listed = f" The nearest ids are {', '.join(near)}{rest}." if near else " It has no rules yet."
            way_out = nearest(name, known) or listed
            raise KnowledgeError(f"The rulebook {self.path.stem} has no rule {shown(name)}.{way_out}")
        return found

    def put(self, rules: Iterable[Rule], date: datetime.date | None = None) -> Rulebook:
        """The book with ``rules`` in place of those with their ids, or added, on this ``date``. Raises ``KnowledgeError``."""
        places = {rule.id: place for place, rule in enumerate(self.rules)}
        changed: dict[int, Rule] = {}
        added: dict[str, Rule] = {}
        for given in rules:
            known = self.rules[places[given.id]].history if given.id in places else ()
            new = (replace(edit, date=edit.date or date) for edit in given.history[len(known) :])
            history = (*given.history[: len(known)], *new)
            rule = replace(given, statement=" ".join(given.statement.split()), history=history)
            if rule.id in places:
                changed[places[rule.id]] = rule
            else:
                added[rule.id] = rule
        changed = {place: rule for place, rule in changed.items() if rule != self.rules[place]}
        if not changed and not added:
            return self
        text, page = rewrite(self.text, self.page, changed, tuple(added.values()), str(self.path))
        return replace(self, text=text, page=page)

    def restored(self, earlier: Rulebook) -> Rulebook:
        """The content of ``earlier``, to be saved over this version: this undoes a change."""
        return replace(self, text=earlier.text, page=earlier.page)


class RuleDifference(NamedTuple):
    """A rule that two books do not share: as it is in either of them (None: not there), and the fields that differ."""

    one: Rule | None
    other: Rule | None
    fields: tuple[RuleField, ...] = ()

    @property
    def id(self) -> str:
        rule = self.one or self.other
        return rule.id if rule else ""


def differences(one: Rulebook, other: Rulebook) -> tuple[RuleDifference, ...]:
    """The rules that are only in one of two books or differ there, in the order of the first book and then of the second."""
    here, there = ({rule.id: rule for rule in book.rules} for book in (one, other))
    pairs = [(here.get(name), there.get(name)) for name in here | there]
    found = (RuleDifference(mine, theirs, mine.differing(theirs) if mine and theirs else ()) for mine, theirs in pairs)
    return tuple(each for each in found if each.fields or each.one is None or each.other is None)


def new_book(path: Path, world: str = DEFAULT_WORLD) -> Rulebook:
    """An empty book about ``world``, not saved yet."""
    text = page_text((), world)
    return Rulebook(path, text, read_page(text, str(path)))


def read_book(path: Path) -> Rulebook:
    """The rulebook in the file ``path``. Raises ``KnowledgeError``, with file, line and field if it is invalid."""
    return parse_book(path, read_bounded(path, LARGEST_FILE, KnowledgeError, name=f"The rulebook {unquoted(str(path))}"))


def parse_book(path: Path, content: bytes) -> Rulebook:
    """Parse ``content``, which was read from ``path``. Raises ``KnowledgeError``."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise KnowledgeError(f"{path}:{line}: a rulebook is text in UTF-8, which this is not.") from None
    return Rulebook(path, text, read_page(text, str(path)), sha256(content).hexdigest())


def save(book: Rulebook) -> Rulebook:
    """Write ``book`` to its file atomically; returns the book as it would now be read.

    Raises ``KnowledgeError``, and leaves the file as it was, if that has changed since or cannot be written. Commands of
    housequest wait for each other; what an editor writes between the comparison and the replacement is lost.
    """
    content = book.text.encode()
    if len(content) > LARGEST_FILE:
        raise KnowledgeError(f"{book.path} would become too large: at most {LARGEST_FILE:,} bytes. Split it into two books.")
    try:
        path = _target(book.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with saving(path):
            _compare(book, path)
            atomic_write(path, content)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise KnowledgeError(f"{book.path} cannot be saved: {reason}. The file is as it was.") from error
    return replace(book, read=sha256(content).hexdigest())


def _target(path: Path) -> Path:
    """The file that a book at ``path`` is saved to: only in the user's library may a link lead out of its folder."""
    folder, target = path.parent.resolve(), path.resolve()
    if not target.is_relative_to(folder) and folder != own_rulebooks().resolve():
        raise KnowledgeError(
            f"{path} is a link to {target}, outside its folder, so nothing was written. To change that book, name it itself."
        )
    return target


def own_rulebooks() -> Path:
    return data_folder() / "rulebooks"


def _compare(book: Rulebook, path: Path) -> None:
    try:
        with open_file(path) as file:
            now = sha256(file.read(LARGEST_FILE + 1)).hexdigest()
            writable = bool(os.fstat(file.fileno()).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    except FileNotFoundError:
        now, writable = None, True
    if now != book.read:
        what = "is gone" if now is None else "was made" if book.read is None else "was changed"
        raise KnowledgeError(
            f"{book.path} {what} since it was read, so nothing was written. Read it again and repeat the change."
        )
    if not writable:
        raise KnowledgeError(f"{book.path} is read-only, so nothing was written. Allow writing, or save a copy of it.")


@contextmanager
def saving(path: Path) -> Generator[None, None, None]:
    """Hold the rulebook ``path`` against other commands of this user, if a lock can be made. Raises ``KnowledgeError``."""
    name = sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    file = state_folder() / "locks" / f"{name}.lock"
    with ExitStack() as lock:
        try:
            lock.enter_context(held(file, "", PATIENCE))
        except InUse:
            raise KnowledgeError(f"Another command is saving {path}; wait for it or stop it, and try again.") from None
        except OSError:  # no home to write to, or a file system without locks
            pass
        yield


@dataclass(frozen=True, slots=True)
class RuleLibrary:
    """Rulebooks by name: the user's in ``own``, then those in ``shipped`` with other names."""

    own: Path
    shipped: Path

    def names(self) -> tuple[str, ...]:
        """The names of all rulebooks, sorted."""
        return tuple(sorted({path.stem for folder in (self.own, self.shipped) for path in _books(folder)}))

    def find(self, name: str) -> Path:
        """The file of the rulebook with this name, or the file itself. Raises ``KnowledgeError``."""
        if _NAME.fullmatch(name):
            for folder in (self.own, self.shipped):
                if (path := folder / f"{name}{SUFFIX}").is_file():
                    return path
            if not _in_the_way(name):
                known = self.names()
                listed = f"there are {', '.join(known)}" if known else "there is none yet"
                raise KnowledgeError(f"There is no rulebook {shown(name)}; {listed}.{nearest(name, known)} Or give a file.")
        try:
            return Path(name).expanduser()
        except (RuntimeError, ValueError):
            raise KnowledgeError(
                f"{shown(name)} is not a path, or begins with a home folder that is not known; write the whole path."
            ) from None

    def open(self, name: str) -> Rulebook:
        """The rulebook of this name or in this file. Raises ``KnowledgeError``."""
        return read_book(self.find(name))

    def editable(self, name: str) -> Rulebook:
        """The rulebook for editing; a shipped one is copied to the user's folder when it is saved."""
        path = self.find(name)
        book = read_book(path)
        return Rulebook(self.own / path.name, book.text, book.page) if self.is_shipped(path) else book

    def writable(self, name: str, world: str = DEFAULT_WORLD) -> Rulebook:
        """The book ``name`` for adding rules about ``world``; a new one if there is none. Raises ``KnowledgeError``."""
        if not name or not name.isprintable():
            raise KnowledgeError(f"{shown(name)} is not the name of a rulebook; give letters and digits, or a file.")
        path = Path(name)
        if _NAME.fullmatch(name) and not _in_the_way(name) and name not in self.names():
            return new_book(self.own / f"{name}{SUFFIX}", world)
        path = self.find(name)
        if not path.exists() and not path.is_symlink():
            return new_book(path, world)
        return self.editable(name).require_world(world, "Name another book, or a new one.")

    def is_shipped(self, path: Path) -> bool:
        return path.parent == self.shipped


def _in_the_way(name: str) -> bool:
    """True if a file has the name of a book; a folder, such as a run's, is none."""
    path = Path(name)
    return path.exists() and not path.is_dir()


def is_book_name(text: str) -> bool:
    """True if ``text`` can be the name of a rulebook; other texts are files."""
    return _NAME.fullmatch(text) is not None


def library() -> RuleLibrary:
    """The rulebooks of this user."""
    with as_file(files("housequest.knowledge")) as folder:
        return RuleLibrary(own_rulebooks(), Path(folder) / "library")


def _books(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix == SUFFIX and is_book_name(path.stem)][:MOST_BOOKS]
    except OSError:  # no such folder
        return []


_SEAL = re.compile(r"@[0-9a-f]{8}$", re.ASCII)


class Renewal(NamedTuple):
    """A book with counted rules added, not yet saved, and their ids by what happened to them; ``left``: a person decided."""

    book: Rulebook
    added: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def renew(book: Rulebook, counted: Iterable[Rule], *, accept: bool) -> Renewal:
    """Put ``counted`` candidates into ``book``; ``accept`` those that the data supports. Raises ``KnowledgeError``."""
    present = {rule.id: rule for rule in book.rules}
    checks = {rule.check: rule.id for rule in reversed(book.rules) if rule.check}
    became: dict[str, list[str]] = {}
    changed: list[Rule] = []
    for candidate in counted:
        rule = sealed(candidate)
        old = present.get(rule.id)
        if old is None:
            fate = "known" if rule.check in checks else "added"
        elif not is_counted(old):
            fate = "left"
        else:
            rule = replace(rule, status=old.status, by=old.by, history=old.history).following(old)
            fate = "renewed"
        if accept and rule.standing == "supported":
            rule = rule.judged("accepted", "evidence")
        if fate == "renewed" and rule == old:
            fate = "same"
        if fate in {"added", "renewed"}:
            changed.append(rule)
        became.setdefault(fate, []).append(rule.id)
    return Renewal(book.put(changed), **{fate: tuple(ids) for fate, ids in became.items()})


def sealed(rule: Rule) -> Rule:
    """``rule`` with a digest of its content in its origin."""
    says = (rule.id, rule.statement, rule.kind or "", str(rule.check or ""), *rule.types, "", *rule.objects)
    says = says if rule.scope == "world" else (*says, "", rule.scope)
    seal = sha256("\n".join(says).encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return replace(rule, origin=replace(rule.origin, name=f"{unsealed(rule.origin).name}@{seal}"))


def unsealed(origin: Origin) -> Origin:
    """``origin`` without the digest of a rule's content."""
    return replace(origin, name=_SEAL.sub("", origin.name))


def is_counted(rule: Rule) -> bool:
    """True if ``rule`` is as counting wrote it, and judged by evidence alone."""
    decided = rule.status != "candidate" and rule.by != "evidence"
    touched = decided or any(edit.by != "evidence" for edit in rule.history)
    return rule.origin.source == "run" and not touched and sealed(rule) == rule

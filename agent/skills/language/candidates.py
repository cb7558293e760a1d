"""Reads a person's line in a world that is no household: which of its possible commands the words mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, sentences, wording
from housequest.agent.skills.language.answers import Mind, answer_of_mind
from housequest.agent.skills.language.playing import CONTROLLED, UNREAD, PlayersLine
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import named_skills
from housequest.worlds.text import cut_at_word

_LISTED = 8
_NAMED = re.compile(r"(?:(.+?) )?((?:[a-z]+ )?[a-z]+) (\d+)")
_WORDS = wording.phrases("candidates")
_FINDS = ("go", "search", "take")
_OF_THINGS = ("take", "put", "open", "close", "use", "take_off", "slice")
_TURNS, _MOVES = ("rotate", "turn"), ("move", "go", "walk")


@dataclass(frozen=True, slots=True)
class CommandWords:
    """A command in plain words ("pick up mug 1"): its verb as the reader of sentences takes it, and its thing."""

    command: str
    text: str
    verb: str | None
    thing: str | None

    @classmethod
    def of(cls, command: str) -> CommandWords:
        text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", command).lower()
        for word, meant in (("pickup", "pick up"), ("toggle", "switch"), (" object", "")):
            text = re.sub(rf"(?<!\w){word}\b" if word[0] != " " else rf"{word}\b", meant, text)
        verb = wording.verb_of(text)
        named = re.search(r"((?:[a-z]+) \d+)$", text)
        article = re.search(r" (?:the|an?) (.+)$", text)
        return cls(command, text, verb and verb[0], named[1] if named else article[1].replace(" ", "") if article else None)

    @property
    def kind(self) -> str | None:
        return None if self.thing is None else self.thing.partition(" ")[0]


def read_candidate(
    said: str, possible: Sequence[str], forms: str, goal: str, mind: Mind, *, last: str = "", picked: str | None = None
) -> PlayersLine:
    """Read a line as one of the ``possible`` commands, a word that steers, or a question.

    Args:
        said: Any text at all.
        possible: The commands that are possible now.
        forms: The world's manual, with a form of its commands a line.
        goal: The goal sentence.
        mind: The turns left and, if an agent plays, its plan.
        last: The world's last answer, which says where one is.
        picked: The command that the person picked of several.

    Returns:
        The command to send, or an answer.
    """
    if picked is not None:
        return PlayersLine(said, (picked,))
    exact = next((one for one in possible if one.lower() == said.strip().lower()), None)
    if exact is not None or _is_form(said, forms):
        return PlayersLine(said, (exact or said,))
    reading = sentences.read_alone(said)
    if reading.control is not None:
        return PlayersLine(said, says=CONTROLLED[reading.control], control=reading.control, asked=True)
    if reading.chat:
        return PlayersLine(said, says="All right.", asked=True)
    known = [CommandWords.of(one) for one in possible]
    bare = ", ".join(one.command for one in known if one.thing is None)
    kinds = {*(skill.kind for skill in named_skills().values()), *(one.kind for one in known if one.kind)}
    if (asked := reading.question) is not None:
        about = next(naming.mentions(kinds, wording.plain(said)), None) if asked.kind == "where" else None
        if about is not None:
            near = [one.thing for one in known if one.thing is not None and one.kind == about[0]]
            where = (
                f"{' and '.join(dict.fromkeys(near))} is in reach." if near else f"No {about[0]} is in reach. {last}".strip()
            )
            return PlayersLine(said, says=where, asked=True)
        told = answer_of_mind(asked.kind, goal, mind)
        told = told or (f"The commands are: {_row(forms)}." if asked.kind in ("how", "can") else last)
        return PlayersLine(said, says=told or "I cannot answer that.", asked=True)
    text = wording.spelled(wording.plain(said), Belief(), kinds)
    parts = [wording.bare(wording.joined(part.strip(" .,!"))) for part, _ in wording.clauses(text)]
    orders = [part for part in parts if wording.verb_of(part) or _WORDS["turns"].match(part)]
    text = (orders or parts or [""])[0]
    if wording.SHAPES["no"].match(text):
        return PlayersLine(said, says="Nothing is sent.", asked=True)
    if _WORDS["around"].fullmatch(text):
        return PlayersLine(said, says=f"{last} There are: {bare}.".strip() if bare else last, asked=True)
    found, why = _meant(text, known)
    if len(found) == 1:
        several = len(orders) > 1 or (found[0].thing is None and _WORDS["several"].search(text) is not None)
        return PlayersLine(said, (found[0].command,), says="One command at a time." if several else "")
    if found:
        some = tuple(one.command for one in found[: grounding.MOST_CHOICES])
        return PlayersLine(said, says="Which one?", choices=some)
    return PlayersLine(said, says=f"{why or UNREAD}{f' There are: {bare}.' if bare else ''}")


def _is_form(said: str, forms: str) -> bool:
    lines = (re.sub(r"\b[A-Z]{2,}\b", lambda _: r"\S.*", re.escape(line.strip())) for line in forms.splitlines())
    return any(re.fullmatch(line, said.strip(), re.IGNORECASE) for line in lines)


def _row(forms: str) -> str:
    return cut_at_word("; ".join(line.strip() for line in forms.splitlines()), 300)


def _meant(text: str, known: Sequence[CommandWords]) -> tuple[list[CommandWords], str]:
    """The commands that a text may mean, or the reason why it means none."""
    verb, rest = wording.verb_of(text) or (None, text)
    words = {word for pattern, word in _DIRECTIONS for _ in pattern.finditer(text)}
    kinds = {one.kind for one in known if one.kind}
    named = next(naming.mentions(kinds, rest), None)
    turning = _WORDS["turns"].match(text) is not None
    if named is None and (turning or verb not in _OF_THINGS or words - {"up", "down"}):
        ways = [one for one in known if one.thing is None]
        if words or turning or _WORDS["moves"].fullmatch(text):
            firsts = _TURNS if turning else _MOVES
            ways = [one for one in ways if (words or {one.text.split()[-1]}).intersection(one.text.split()[1:])]
            # "Look up" and "go up" differ in their first words.
            near = [one for one in ways if one.text.split()[0] in (text.split(maxsplit=1)[0], *firsts)]
            return (near or (ways if words else [])), ""
        return [], ""
    alike = [one for one in known if one.thing is not None]
    if verb is not None:
        alike = [one for one in alike if one.verb == verb or (verb in _FINDS and one.text.startswith(("find ", "go ")))]
    if named is not None:
        number = re.match(r" ?(\d+)", rest[named[2] :])
        alike = [
            one for one in alike if one.kind == named[0] and (number is None or (one.thing or "").endswith(f" {number[1]}"))
        ]
    elif (unknown := re.search(r"\b(?:the|an?|my|that|some)? ?([a-z]{3,})$", rest)) and not _WORDS["pronoun"].search(rest):
        return [], f"No {unknown[1]} is in reach for that." if verb is not None else ""
    if verb is not None and not alike:
        return [], "That is not possible from here."
    first = text.partition(" ")[0]
    return [one for one in alike if one.text.startswith(f"{first} ")] or alike, ""


_DIRECTIONS = [
    (_WORDS["ahead"], "ahead"),
    *((re.compile(rf"\b{word}(?:wards?)?\b"), word) for word in ("left", "right", "up", "down", "back")),
]

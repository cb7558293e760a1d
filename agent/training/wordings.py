"""Generated rules, hints and goals in many wordings, each with its meaning, to learn reading from.

The annotators of ``train`` wrote some ten thousand sentences. These add other names and phrases, slips and misspellings. All
words are in ``wordings.toml``; the sentences for evaluation (``held_out.toml``) share none of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from housequest.agent.agents.reasoner_actor.agent import ANYWHERE, SearchOrder
from housequest.worlds.household.goals import Goal
from housequest.worlds.text import with_article

Names = dict[str, tuple[str, ...]]  # People's names for each kind, its own name first.

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text("utf-8"))


def _names(table: str) -> Names:
    return {kind: tuple(filter(None, (kind, *others.split(", ")))) for kind, others in WORDS[table].items()}


def _listed(texts: Sequence[str], lists: dict[str, str]) -> list[str]:
    return [re.sub(r"<(\w+)>", lambda name: f"[{lists[name[1]]}]", text) for text in texts]


FURNITURE, OBJECTS = _names("furniture"), _names("things")
_VAGUE_FURNITURE = _names("vague_furniture")
_VAGUE_OBJECTS = {kind: name for name, kinds in WORDS["vague_things"].items() for kind in kinds.split()}
_FILLERS = WORDS["fillers"].split()
_SENTENCES = {type: _listed(texts, WORDS["lists"]) for type, texts in WORDS["goals"].items()} | {
    type: _listed(WORDS["treating"], WORDS["lists"] | lists) for type, lists in WORDS["treatments"].items()
}
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_MOSTLY = 50
"""The percentage in one kind of place from which a counted rule gives a search order. Objects spread over the house are found
sooner by searching what is near."""


class Sentence(NamedTuple):
    """A rule or a hint in words, with the search order that it gives; an empty one if it is about something else."""

    text: str
    order: SearchOrder = ANYWHERE


def rule(random: Random, thing: str, places: Sequence[str], *, lamp: bool = False) -> Sentence:
    """A rule that ``thing`` lies in ``places``, which are kinds; one in eight says that it does not. Three in ten are counted,
    in the words of mined rules in short prompts, and give a search order only if most are in one kind of place."""
    draw = random.random()
    if draw < 0.3:
        shares = _shares(random, len(places))
        told = ((place, share, random.randint(1, 9)) for place, share in zip(places, shares, strict=True))
        listed = ", ".join(f"{at} {share} % ({max(0, share - off)}-{min(100, share + off)})" for at, share, off in told)
        mostly = tuple(place for place, share in zip(places, shares, strict=True) if share >= _MOSTLY)
        text = _filled(random, random.choice(WORDS["counted_rules"]), thing, places, listed)
        return Sentence(text, SearchOrder(mostly, (), lamp) if mostly else ANYWHERE)
    denied = draw < 0.41
    text = _filled(random, random.choice(WORDS["not_rules" if denied else "rules"]), thing, places)
    return Sentence(text, SearchOrder((), tuple(places), lamp) if denied else SearchOrder(tuple(places), (), lamp))


def hint(random: Random, thing: str, places: Sequence[str], *, lamp: bool = False) -> Sentence:
    """A hint to look in ``places``, kinds or names; some hints say not to look there, and some say nothing."""
    draw = random.random()
    if draw < 0.06:
        return Sentence(random.choice(WORDS["idle"]) if random.random() < 0.5 else _chatted(random, ()))
    if draw < 0.2 and not lamp:
        return Sentence(_filled(random, random.choice(WORDS["not_hints"]), thing, places), SearchOrder((), tuple(places)))
    if draw < 0.5 and not lamp:
        return Sentence(_chatted(random, places), SearchOrder(tuple(places)))
    # A hint about the lamp has to name it.
    texts = [text for text in WORDS["hints"] if "{x}" in text or not lamp]
    return Sentence(_filled(random, random.choice(texts), thing, places), SearchOrder(tuple(places), (), lamp))


def _chatted(random: Random, places: Sequence[str]) -> str:
    """Places among meaningless words, some of them invented, since people do not speak in templates."""

    def word() -> str:
        if random.random() < 0.85:
            return random.choice(_FILLERS)
        return "".join(random.choice("aaeeiioubcdfghklmnprstvw") for _ in range(random.randint(2, 9)))

    before, after = ([word() for _ in range(random.randint(0, most))] for most in (6, 4))
    named = random.choice((" or ", ", ", " and then ")).join(_spoken(random, place) for place in places)
    return " ".join((*before, named, *after)) + random.choice(("", "", ".", "!", "?"))


def _shares(random: Random, count: int) -> list[int]:
    """``count`` percentages, the largest first; in half of the draws the first is the majority."""
    shares = [random.randint(_MOSTLY, 100) if random.random() < 0.5 else random.randint(10, _MOSTLY - 1)]
    for _ in range(count - 1):
        shares.append(random.randint(1, max(1, min(shares[-1], 100 - sum(shares)))))
    return shares


def _filled(random: Random, text: str, thing: str, places: Sequence[str], listed: str = "") -> str:
    spoken = [_spoken(random, place) for place in places]
    a = with_article(thing).partition(" ")[0]
    words = {"a": a, "A": a.capitalize(), "x": thing, "X": thing.capitalize(), "n": str(random.randint(10, 900))}
    either = random.choice((" or ", " or ", " and ", ", ")).join(spoken)
    return text.format(**words, **{"list": listed, "or": either})


def _spoken(random: Random, place: str) -> str:
    stem, _, number = place.rpartition(" ")
    kind = stem or place
    word = random.choice(FURNITURE.get(kind, (kind,))) if random.random() < (0.4 if stem else 0.5) else kind
    if stem:
        return random.choice((f"{word} {number}", f"the {word} {number}", f"{word} number {number}"))
    return random.choice((f"the {word}", f"the {word}", word, f"one of the {word}s", f"the {word}s", f"a {word}"))


def goal_wording(random: Random, goal: Goal, places: Sequence[str]) -> str:
    """A sentence that a person might write for ``goal`` in a house with furniture of the kinds ``places``. Some are untidy:
    without articles, in a child's or a learner's words, or misspelled."""
    bare = _named(random, goal.object, OBJECTS, _VAGUE_OBJECTS.get(goal.object))
    source = random.choice([kind for kind in places if kind != goal.receptacle] or ["shelf"])
    holes = {
        "x": _with_article(random, bare),
        "a": random.choice(("a", "a", "the", "some", "one")),
        "bare": bare,
        "two": random.choice(("two", "two", "2", "both", "a pair of", "a couple of", "the two")) + " " + plural(bare),
        "r": _with_article(random, _placed(random, goal.receptacle)) if goal.receptacle else "",
        "lamp": _with_article(random, _named(random, goal.lamp, OBJECTS)) if goal.lamp else "",
        "s": f"{random.choice(('from', 'from', 'on', 'in', 'that is on', 'off'))} the {_placed(random, source)}",
    }
    text = random.choice(_SENTENCES[goal.type])
    if "{a}" in text:
        holes["x"] = bare
    while (chosen := _CHOICE.sub(lambda found: random.choice(found[1].split("|")), text)) != text:
        text = chosen
    return _untidied(random, " ".join(text.format(**holes).split()).replace(" ,", ","))


def _named(random: Random, kind: str, names: Names, vague: str | None = None) -> str:
    known = names.get(kind, (kind,))
    if vague and random.random() < 0.06:
        return vague
    name = known[0] if random.random() < 0.35 else random.choice(known)
    return f"{random.choice(WORDS['adjectives'])} {name}" if random.random() < 0.15 else name


def _placed(random: Random, kind: str) -> str:
    if kind in _VAGUE_FURNITURE and random.random() < 0.15:
        return random.choice(_VAGUE_FURNITURE[kind][1:])
    return _named(random, kind, FURNITURE)


def _with_article(random: Random, name: str) -> str:
    article = random.choice(("the", "the", "the", "a", "a", "my", "that", ""))
    return with_article(name) if article == "a" else f"{article} {name}".strip()


def plural(name: str) -> str:
    """The plural of ``name``: of "bar" in a "bar of soap", otherwise of its last word."""
    first, of, rest = name.partition(" of ")
    if first in {"keys", "tissues", "paper towels"}:
        return name
    if first.endswith(("s", "x", "ch", "sh", "potato", "tomato")):
        return f"{first}es{of}{rest}"
    return f"{first.removesuffix('fe')}ves{of}{rest}" if first.endswith("knife") else f"{first}s{of}{rest}"


def _untidied(random: Random, text: str) -> str:
    """``text`` as a person might type it: with words around it, as a sentence or not, without articles or with a typo."""
    draw = random.random()
    if draw < 0.15:
        text = f"{random.choice(WORDS['before'])} {text}"
    elif draw < 0.2:
        text = f"{text} {random.choice(WORDS['after'])}"
    if random.random() < 0.1:
        text = re.sub(r"\b(?:the|a|an|my|that) ", "", text)
    if random.random() < 0.12:
        words = text.split(" ")
        at = random.randrange(len(words))
        words[at] = _misspelt(random, words[at])
        text = " ".join(words)
    if random.random() < 0.6:
        text = text[:1].upper() + text[1:]
    return text + random.choice((".", ".", "", "", "!"))


def _misspelt(random: Random, word: str) -> str:
    """``word`` with one letter left out, doubled or swapped with its neighbour; short words stay."""
    if len(word) < 4:
        return word
    at = random.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    return random.choice((before + after, before + 2 * letter + after, before + after[0] + letter + after[1:]))


def texts() -> list[str]:
    """All wordings and names, to collect their words."""
    said = ("rules", "counted_rules", "not_rules", "hints", "not_hints", "idle", "adjectives", "before", "after")
    texts: list[str] = [*chain.from_iterable(WORDS[name] for name in said), *chain.from_iterable(_SENTENCES.values())]
    names = (*FURNITURE.values(), *_VAGUE_FURNITURE.values(), *OBJECTS.values(), _VAGUE_OBJECTS.values())
    return [WORDS["templates"], WORDS["fillers"], *(text.replace("{or}", "") for text in texts), *chain.from_iterable(names)]

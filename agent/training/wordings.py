"""Rules and hints in many words, each with what it tells: made-up sentences to learn reading from.

The sentences that following hints is measured by (``held_out``) share no wording with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from housequest.agent.agents.reasoner_actor.demonstrations import ANYWHERE, SearchOrder


def phrases(*lines: str) -> tuple[str, ...]:
    """What stands between the slashes of ``lines``."""
    return tuple(phrase for line in lines for phrase in line.split(" / "))


def names_of_kinds(*lines: str) -> dict[str, tuple[str, ...]]:
    """The names of each kind by its first: between the slashes of ``lines`` stand those of one, with commas."""
    return {each.split(", ")[0]: tuple(each.split(", ")) for each in phrases(*lines)}


SYNONYMS = names_of_kinds(
    "armchair, arm chair, chair, recliner / bathtubbasin, bathtub, tub, bath / bed, mattress / cabinet, cupboard",
    "cart, trolley, rolling cart / coffeemachine, coffee maker, coffee machine, coffeemaker, coffee pot",
    "coffeetable, coffee table, living room table",
    "countertop, counter, kitchen counter, counter top, worktop, bench top / desk, writing desk, computer desk",
    "diningtable, dining table, table, kitchen table, dinner table / drawer / dresser, chest of drawers, bureau",
    "fridge, refrigerator / garbagecan, bin, trash can, garbage can, trash, waste basket",
    "handtowelholder, towel rack, hand towel holder, towel ring",
    "laundryhamper, hamper, laundry basket, laundry hamper / microwave, microwave oven",
    "ottoman, footrest, foot stool, footstool / safe, strongbox, vault / shelf, rack",
    "sidetable, side table, nightstand, night stand, bedside table, end table, corner table, night table",
    "sinkbasin, sink, basin, kitchen sink / sofa, couch, settee",
    "stoveburner, stove, burner, stove burner, cooker, hob / toaster",
    "toilet, back of the toilet, toilet tank, toilet lid / toiletpaperhanger, toilet paper holder, toilet roll holder",
    "towelholder, towel bar, towel rail, towel holder / tvstand, tv stand, television stand, tv cabinet, tv console",
)
"""What people call the kinds of furniture: each kind, then its other names."""

_RULES = phrases(
    "{A} {x} is usually in {or}. / {A} {x} lies in {or}. / {A} {x} is kept in {or}. / {X}s are kept in {or}.",
    "{X}s are usually found in {or}. / In this house {a} {x} lies in {or}. / Here people keep their {x}s in {or}.",
    "Look for {a} {x} in {or} first. / Every {x} is in {or}. / If you need {a} {x}, go to {or}.",
    "You will find {a} {x} in {or}. / All {x}s here are in {or}. / The {x} is always in {or}. / {X}: {or}.",
    "They put {x}s in {or} here. / {A} {x} belongs in {or}. / Somebody stores the {x}s in {or}.",
)
_COUNTED_RULES = phrases("{A} {x} is most often in {list}, n={n}. / {A} {x} is most often in {list}. / {A} {x}: {list}.")
_MOSTLY = 50
"""Of a hundred things, so many have to be in one kind of place for a counted rule to say where to look first. What is spread
over the house is found sooner by what is near.
"""
_NOT_RULES = ("There is never {a} {x} in {or}.", "{A} {x} is not kept in {or}.", "{X}s are never in {or}.")
_HINTS = phrases(
    "look in {or} / look in {or} first / try {or} / it is in {or} / it's in {or} / the {x} is in {or} / the {x} is on {or}",
    "there is one in {or} / there's {a} {x} on {or} / i saw {a} {x} in {or} / check {or} / go to {or} / have a look at {or}",
    "i think it is in {or} / maybe in {or} / {or} / you should search {or} / the {x} should be in {or} / why not open {or}",
    "someone left the {x} on {or} / go and see {or} / start with {or} / please look into {or} now",
    "you have not looked in {or} yet / my {x} is always on {or} / search {or} before anything else / what about {or}?",
    "inside {or} / on {or} / in {or}!",
)
_NOT_HINTS = phrases(
    "it is not in {or} / do not look in {or} / don't bother with {or} / leave out {or} / there is nothing in {or}",
    "skip {or} / not {or} / stay away from {or} / never mind {or}",
)
_FILLERS = tuple(
    word
    for line in (
        "a about all always and around at be before best better but by can could do everything feel for from get give go have",
        "head here hide how i if in inside is it its just keep know last left let like look lying maybe me my near next now of",
        "often on once one over perhaps place please put quickly really right saw say search see seems should so some someone",
        "something start stored sure take that the their them then there these they thing think this those to toward trust try",
        "turn under up us use usually visit walk want was we well were what where which while why will with would you your",
    )
    for word in line.split(" ")
)
_IDLE = ("good luck", "you can do it", "hurry up", "think about it", "well done", "be careful", "hello", "what are you doing?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A rule or a hint in words, and the search order that it gives; an empty one where it speaks of something else."""

    text: str
    order: SearchOrder = ANYWHERE


def rule(random: Random, thing: str, places: Sequence[str], *, lamp: bool = False) -> Sentence:
    """A rule on where ``thing`` lies: in ``places``, which are kinds; one in eight says that it does not.

    Three in ten are counted, in the words that short prompts have for mined rules; they tell a search order only where most are
    in one kind of place.
    """
    draw = random.random()
    if draw < 0.3:
        shares = _shares(random, len(places))
        listed = ", ".join(f"{place} {share} % {_interval(random, share)}" for place, share in zip(places, shares, strict=True))
        mostly = tuple(place for place, share in zip(places, shares, strict=True) if share >= _MOSTLY)
        text = _filled(random, random.choice(_COUNTED_RULES), thing, places, listed)
        return Sentence(text, SearchOrder(mostly, (), lamp) if mostly else ANYWHERE)
    denied = draw < 0.41
    text = _filled(random, random.choice(_NOT_RULES if denied else _RULES), thing, places)
    return Sentence(text, SearchOrder((), tuple(places), lamp) if denied else SearchOrder(tuple(places), (), lamp))


def hint(random: Random, thing: str, places: Sequence[str], *, lamp: bool = False) -> Sentence:
    """A hint on where to look: in ``places``, kinds or names; some say where not to, and some say nothing."""
    draw = random.random()
    if draw < 0.06:
        return Sentence(random.choice(_IDLE) if random.random() < 0.5 else _chatted(random, ()))
    if draw < 0.2 and not lamp:
        return Sentence(_filled(random, random.choice(_NOT_HINTS), thing, places), SearchOrder((), tuple(places)))
    if draw < 0.5 and not lamp:
        return Sentence(_chatted(random, places), SearchOrder(tuple(places)))
    # What is said of the lamp has to name it.
    texts = [text for text in _HINTS if "{x}" in text] if lamp else _HINTS
    return Sentence(_filled(random, random.choice(texts), thing, places), SearchOrder(tuple(places), (), lamp))


def _chatted(random: Random, places: Sequence[str]) -> str:
    """Places among words that say nothing, some of them unheard of: people do not speak by template."""

    def word() -> str:
        if random.random() < 0.85:
            return random.choice(_FILLERS)
        return "".join(random.choice("aaeeiioubcdfghklmnprstvw") for _ in range(random.randint(2, 9)))

    before, after = ([word() for _ in range(random.randint(0, most))] for most in (6, 4))
    named = random.choice((" or ", ", ", " and then ")).join(_spoken(random, place) for place in places)
    return " ".join((*before, named, *after)) + random.choice(("", "", ".", "!", "?"))


def _shares(random: Random, count: int) -> list[int]:
    """``count`` shares of a hundred, the largest first; in half of the draws the first is most."""
    first = random.randint(_MOSTLY, 100) if random.random() < 0.5 else random.randint(10, _MOSTLY - 1)
    shares = [first]
    for _ in range(count - 1):
        shares.append(random.randint(1, max(1, min(shares[-1], 100 - sum(shares)))))
    return shares


def _interval(random: Random, share: int) -> str:
    about = random.randint(1, 9)
    return f"({max(0, share - about)}-{min(100, share + about)})"


def _filled(random: Random, text: str, thing: str, places: Sequence[str], listed: str = "") -> str:
    spoken = [_spoken(random, place) for place in places]
    a = "an" if thing[0] in "aeiou" else "a"
    words = {"a": a, "A": a.capitalize(), "x": thing, "X": thing.capitalize(), "n": str(random.randint(10, 900))}
    either = random.choice((" or ", " or ", " and ", ", ")).join(spoken)
    return text.format(**words, **{"list": listed, "or": either})


def _spoken(random: Random, place: str) -> str:
    stem, _, number = place.rpartition(" ")
    if stem:
        word = random.choice(SYNONYMS.get(stem, (stem,))) if random.random() < 0.4 else stem
        return random.choice((f"{word} {number}", f"the {word} {number}", f"{word} number {number}"))
    word = random.choice(SYNONYMS.get(place, (place,))) if random.random() < 0.5 else place
    return random.choice((f"the {word}", f"the {word}", word, f"one of the {word}s", f"the {word}s", f"a {word}"))


def texts() -> tuple[str, ...]:
    """All wordings, for their words."""
    return tuple(
        text.replace("{or}", "").replace("{x}", "")
        for text in (*_RULES, *_COUNTED_RULES, *_NOT_RULES, *_HINTS, *_NOT_HINTS, *_IDLE, *_FILLERS)
    )

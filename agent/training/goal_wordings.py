"""Goals in the words of many people: a grammar of sentences to learn reading from, with slips and misspellings.

The annotators of ``train`` wrote some ten thousand sentences. These add names and turns of phrase that they did not use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from housequest.agent.training.wordings import SYNONYMS, names_of_kinds
from housequest.worlds.household.goals import Goal

VAGUE_PLACES = names_of_kinds(
    "diningtable, table, round table, wooden table / coffeetable, table, low table, glass table / desk, table, work table",
    "sidetable, table, small table, stand, black table / countertop, table, island, work surface / dresser, drawers, table",
    "tvstand, stand, cabinet, table / shelf, shelves, bookcase / cabinet, drawer, closet / sinkbasin, faucet",
    "armchair, seat / sofa, seat / toilet, tank / stoveburner, oven / drawer, desk drawer / fridge, freezer",
)
"""Names that people give to more than one kind of furniture."""

OBJECTS = names_of_kinds(
    "alarmclock, alarm clock, clock, digital clock / apple, red apple / baseballbat, baseball bat, bat",
    "basketball, basket ball, ball / book, textbook, novel, magazine, paperback / bowl, glass bowl, soup bowl",
    "box, cardboard box, carton, package / bread, loaf of bread, loaf, bread loaf, slice of bread",
    "butterknife, butter knife, table knife, dinner knife / candle, wax candle / cd, disc, disk, compact disc, dvd",
    "cellphone, cell phone, phone, mobile phone, mobile, smartphone, cell",
    "cloth, rag, washcloth, wash cloth, dish cloth / creditcard, credit card, bank card, card",
    "cup, drinking cup, goblet, tumbler / dishsponge, dish sponge, sponge, scrubber / egg, chicken egg",
    "fork, dinner fork / glassbottle, glass bottle, glass jar, flask / handtowel, hand towel, small towel",
    "houseplant, house plant, plant / kettle, tea kettle, teapot, tea pot",
    "keychain, key chain, keys, set of keys, key ring / knife, kitchen knife, sharp knife, chef's knife",
    "ladle, soup ladle, serving spoon / laptop, laptop computer, computer",
    "lettuce, head of lettuce, lettuce head, salad / mug, coffee mug, coffee cup, tea cup, cup",
    "newspaper, news paper, paper, newsletter / pan, frying pan, skillet, fry pan / pen, blue pen, ink pen / pencil",
    "papertowelroll, paper towel roll, paper towels, roll of paper towels, kitchen roll",
    "peppershaker, pepper shaker, pepper, pepper pot / pillow, cushion, throw pillow / plate, dinner plate, dish",
    "plunger, toilet plunger / pot, cooking pot, saucepan, sauce pan, stew pot / potato, spud, brown potato",
    "remotecontrol, remote control, remote, tv remote, controller, clicker / saltshaker, salt shaker, salt",
    "scrubbrush, scrub brush, toilet brush, brush / soapbar, bar of soap, soap bar, soap",
    "soapbottle, soap bottle, bottle of soap, soap dispenser, hand soap, lotion bottle, soap pump",
    "spatula, turner, cooking spatula / spoon, tablespoon, teaspoon",
    "spraybottle, spray bottle, spray, cleaning spray / statue, figurine, sculpture, statuette, ornament",
    "teddybear, teddy bear, teddy, stuffed bear / tennisracket, tennis racket, racket",
    "tissuebox, tissue box, box of tissues, tissues, kleenex box",
    "toiletpaper, toilet paper, roll of toilet paper, toilet paper roll, toilet roll, empty roll / tomato, red tomato",
    "towel, bath towel, big towel / vase, flower vase, jar, urn / watch, wrist watch, wristwatch",
    "wateringcan, watering can, watering pot / winebottle, wine bottle, bottle of wine, wine",
    "desklamp, desk lamp, lamp / floorlamp, floor lamp, lamp, standing lamp",
)
"""What people call the kinds of things: each kind, then its other names."""

VAGUE_OBJECTS = {
    **dict.fromkeys(("soapbottle", "spraybottle", "glassbottle", "winebottle"), "bottle"),
    **dict.fromkeys(("saltshaker", "peppershaker"), "shaker"),
    **dict.fromkeys(("knife", "butterknife"), "knife"),
    **dict.fromkeys(("handtowel", "towel", "cloth"), "towel"),
    **dict.fromkeys(("bowl", "plate", "pan"), "dish"),
    **dict.fromkeys(("cup", "vase"), "glass"),
    **dict.fromkeys(("toiletpaper", "papertowelroll"), "roll"),
}
"""A name that people give to more than one kind of thing."""

_PUT = "[put|put|place|place|set|lay|leave|drop|store|stow|stash|keep]"
_IN = "[in|on|into|onto|inside|inside of|on top of|upon|at|to]"
_MOVE = "[move|bring|carry|take|transfer|return|get|deliver]"
_TO = "[to|to|over to|into|onto|back to|in|on]"
_TAKE = "[take|grab|pick up|get|fetch|find|go get|look for|collect]"
_THEN = "[and|and|, and|, then|and then|, and then|before you|so you can]"
_CLEAN = "[clean|wash|rinse|rinse off|wash off|clean up|wet]"
_HEAT = "[heat|heat up|warm|warm up|microwave|cook|nuke|make hot]"
_COOL = "[chill|cool|cool down|cool off|refrigerate|chill down|make cold]"
_CLEANED = "[clean|cleaned|washed|rinsed|wet|freshly washed|cleaned off]"
_HEATED = "[hot|heated|warm|warmed|cooked|microwaved|warmed up|heated up]"
_COOLED = "[cold|chilled|cool|cooled|refrigerated|cooled down]"
_SINK = "[| in the sink| under the tap| with water| at the sink| in the basin]"
_MICROWAVE = "[| in the microwave| using the microwave| in the microwave oven| with the microwave]"
_FRIDGE = "[| in the fridge| in the refrigerator| using the fridge| with the fridge| in the freezer]"


def _treating(verb: str, done: str, where: str) -> tuple[str, ...]:
    return (
        f"{_PUT} {{a}} {done} {{x}} {_IN} {{r}}",
        f"{_MOVE} {{a}} {done} {{x}} {_TO} {{r}}",
        f"{verb} {{x}}{where} {_THEN} {_PUT} it {_IN} {{r}}",
        f"{verb} {{x}}{where} {_THEN} {_MOVE} it {_TO} {{r}}",
        f"{_TAKE} {{x}}, {verb} it{where} {_THEN} {_PUT} it {_IN} {{r}}",
        f"{_TAKE} {{x}} {{s}} , {verb} it{where} {_THEN} {_PUT} it {_IN} {{r}}",
        f"[i want|i need|there should be|make sure there is] {{a}} {done} {{x}} {_IN} {{r}}",
        f"after you {verb} {{x}}{where}, {_PUT} it {_IN} {{r}}",
        f"{{x}} should be {done} and {_IN} {{r}}",
    )


_SENTENCES: dict[str, tuple[str, ...]] = {
    "pick_and_place_simple": (
        f"{_PUT} {{x}} {_IN} {{r}}",
        f"{_PUT} {{x}} {_IN} {{r}}",
        f"{_MOVE} {{x}} {_TO} {{r}}",
        f"{_MOVE} {{x}} {{s}} {_TO} {{r}}",
        f"{_TAKE} {{x}} {_THEN} {_PUT} it {_IN} {{r}}",
        f"{_TAKE} {{x}} {{s}} {_THEN} {_PUT} it {_IN} {{r}}",
        f"[i want|i need|there should be|i would like] {{x}} {_IN} {{r}}",
        "{x} belongs [in|on] {r}",
        "{x} goes [in|on] {r}",
        f"tidy up: {{x}} {_IN} {{r}}",
        "[throw away|throw|toss] {x} [in|into] {r}",
    ),
    "pick_clean_then_place_in_recep": _treating(_CLEAN, _CLEANED, _SINK),
    "pick_heat_then_place_in_recep": _treating(_HEAT, _HEATED, _MICROWAVE),
    "pick_cool_then_place_in_recep": _treating(_COOL, _COOLED, _FRIDGE),
    "pick_two_obj_and_place": (
        f"{_PUT} {{two}} {_IN} {{r}}",
        f"{_PUT} {{two}} {_IN} {{r}}",
        f"{_MOVE} {{two}} {_TO} {{r}}",
        f"{_MOVE} {{two}} {{s}} {_TO} {{r}}",
        f"{_TAKE} {{two}} {_THEN} {_PUT} them {_IN} {{r}}",
        f"{_PUT} {{x}} {_IN} {{r}} , then [another one|a second one|one more] [there|next to it|beside it|too]",
        f"[i want|i need|there should be] {{two}} {_IN} {{r}}",
        f"{_PUT} {{x}} and another {{bare}} {_IN} {{r}}",
    ),
    "look_at_obj_in_light": (
        "[look at|examine|inspect|study|check|read|view|see] {x} [under|by|with|next to|in the light of|using|beneath] {lamp}",
        "[look at|examine|inspect|view] {x} [in the light|under the light|with the light on|by lamp light|in bright light]",
        "[turn on|switch on|use|light] {lamp} [while holding|with|to look at|to examine|and look at|to see] {x}",
        f"{_TAKE} {{x}} [and|, then] [turn on|switch on|click on] {{lamp}}",
        "[hold|carry] {x} [to|under|near|next to|by] {lamp} [and turn it on|that is on|and switch it on|]",
        f"{_TAKE} {{x}} {{s}} [and|, then] [look at it|examine it] [under|by|with] {{lamp}}",
    ),
}
_ADJECTIVES = (
    *("red", "green", "blue", "white", "black", "yellow", "brown", "silver", "gold"),
    *("small", "big", "large", "little", "old", "new", "round", "wooden", "dirty"),
)
_BEFORE = ("please", "can you", "could you", "i want you to", "you need to", "go and", "hey", "now", "to", "would you", "let's")
_AFTER = ("please", "for me", "now", "thank you", "thanks", "ok", "quickly")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")


def goal_wording(random: Random, goal: Goal, places: Sequence[str]) -> str:
    """A sentence that a person might write for ``goal`` in a house with furniture of the kinds ``places``.

    Some are untidy: without articles, in a child's or a learner's words, or misspelt.
    """
    bare = _named(random, goal.object, OBJECTS, VAGUE_OBJECTS.get(goal.object))
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


def _named(random: Random, kind: str, names: dict[str, tuple[str, ...]], vague: str | None = None) -> str:
    known = names.get(kind, (kind,))
    if vague and random.random() < 0.06:
        return vague
    name = known[0] if random.random() < 0.35 else random.choice(known)
    return f"{random.choice(_ADJECTIVES)} {name}" if random.random() < 0.15 else name


def _placed(random: Random, kind: str) -> str:
    if kind in VAGUE_PLACES and random.random() < 0.15:
        return random.choice(VAGUE_PLACES[kind][1:])
    return _named(random, kind, SYNONYMS)


def _with_article(random: Random, name: str) -> str:
    article = random.choice(("the", "the", "the", "a", "a", "my", "that", ""))
    return f"{'an' if article == 'a' and name[0] in 'aeiou' else article} {name}".strip()


def plural(name: str) -> str:
    """``name`` for several: of a "bar of soap" the bar, else its last word."""
    first, of, rest = name.partition(" of ")
    if first.endswith(("s", "x", "ch", "sh")):
        return name if first in {"keys", "tissues", "paper towels"} else f"{first}es{of}{rest}"
    if first.endswith(("potato", "tomato")):
        return f"{first}es{of}{rest}"
    if first.endswith("knife"):
        return f"{first[:-2]}ves{of}{rest}"
    return f"{first}s{of}{rest}"


def _untidied(random: Random, text: str) -> str:
    """``text`` as it may come: with words around it, as a sentence or not, some with fewer articles or a slip of the keys."""
    draw = random.random()
    if draw < 0.15:
        text = f"{random.choice(_BEFORE)} {text}"
    elif draw < 0.2:
        text = f"{text} {random.choice(_AFTER)}"
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
    """``word`` with one letter left out, doubled or changed with its neighbour; short words as they are."""
    if len(word) < 4:
        return word
    at = random.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    return random.choice((before + after, before + 2 * letter + after, before + after[0] + letter + after[1:]))


def texts() -> tuple[str, ...]:
    """All words of the grammar."""
    names = (name for table in (OBJECTS, VAGUE_PLACES) for group in table.values() for name in group)
    sentences = (text for group in _SENTENCES.values() for text in group)
    return (*names, *VAGUE_OBJECTS.values(), *sentences, *_ADJECTIVES, *_BEFORE, *_AFTER)

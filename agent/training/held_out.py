"""What the built-in model is measured by and never trained on: hints, goals in other words, and houses of other habits."""

from __future__ import annotations

from typing import Literal

from housequest.agent.training.wordings import phrases
from housequest.worlds.household.goals import GoalForm

HintMeaning = Literal["there", "last", "not there", "no such place"]
"""Whether a hint names a place to go to (for a kind, any of that kind), the last of a kind, where not to look, or nothing."""

HINTS = phrases(
    "Have you tried {place}? / I'd bet on {place}. / Somebody left it at {place}, I believe. / My guess would be {place}",
    "It could be hiding in {place} / If I were you I would begin at {place}. / Last night I noticed it near {place}",
    "Take a peek inside {place} / Head over to {place} before you do anything. / Let's see whether {place} has it",
    "Walk to {place}, please. / Now over to {place} / Grandma always keeps hers in {place} / Peek into {place}; trust me",
    "{place} seems a good place / Would you mind examining {place}? / Could you have a glance at {place}?",
    "It must be lying around {place} / Probably {place}. / There used to be one at {place} / Hmm, {place} perhaps?",
    "Listen: {place}! / I would love you to investigate {place} / We usually store those in {place}",
    "Rumour has it that you want {place} / Your best chance is {place} / Forget the rest and visit {place}",
    "The answer lies in {place} / Do me a favour and inspect {place} / Straight to {place} with you",
    "You'd better approach {place} / Somewhere around {place} I think / The children played with it by {place}",
    "Begin your search with {place}, ok? / I put it away in {place} yesterday / Wander across to {place}",
    "Next stop: {place} / Don't you think {place} is worth a visit? / Everything you need is at {place}",
    "Turn to {place} now",
)
"""Forty hints in free wording; ``{place}`` is a receptacle of the house, such as ``drawer 3``."""

LEARNER_HINTS: dict[HintMeaning, dict[str, tuple[str, ...]]] = {
    "there": {
        "drawer 1": phrases("you must to begin with the first drawer"),
        "drawer 2": phrases("why you not look in drawer 2? / me think drawer nr. 2 / It have to be inside of the 2nd drawer"),
        "drawer 3": phrases(
            "go to the draw number three!! / its in the drawer with the 3 on it / third drawer, mommy puts it there"
        ),
        "drawer 4": phrases("four! drawer four! quick! / i am sure, is in fourth drawer"),
        "drawer 12": phrases("The thing is staying in drawer twelve since yesterday"),
        "cabinet 1": phrases("open the cupboard 1 one time, please"),
        "cabinet 2": phrases("dolly hided it in cupboard two / in the number two cabinet it is"),
        "cabinet 4": phrases("look in 4th cupboard / can you look at cubberd four pretty please"),
        "cabinet 5": phrases("In cabinet No. 5 it gives one / the fifth cupboard has it i peeked"),
        "cabinet 11": phrases("please you search on the eleventh cabinet"),
        "shelf 1": phrases("goto shelf #1"),
        "shelf 2": phrases("second shelf, there you will find it / it are on the 2nd shelf you silly"),
        "countertop 2": phrases("before one hour i have seen it on counter number two"),
        "sidetable 2": phrases("the second side table, he is there"),
        "stoveburner 3": phrases("on burner three there it stands"),
        "fridge": phrases("its in the fridgerator i know it"),
        "drawer": phrases("you have to see all of the drawers"),
        "shelf": phrases("shelfs! shelfs!"),
    },
    "last": {
        "drawer": phrases("in the last drawer, the very very last one"),
        "cabinet": phrases("go until the last cupboard"),
        "shelf": phrases("he is on the last shelf, I believe"),
    },
    "not there": {
        "cabinet": phrases("everywhere but not the cabinets!! / it isnt in the cupboards i promise"),
        "countertop": phrases("please to not go to the counter / nooo not the counter again"),
        "drawer": phrases("skip the drawers yes? / The drawers have nothing inside, I looked"),
        "desk": phrases("the desk is boring dont go there"),
        "diningtable": phrases("stay away of the dining table"),
    },
    "no such place": {
        "drawer": phrases("look in drawer number forty two"),
        "cabinet": phrases("it is in the 99th cupboard"),
    },
}
"""Forty hints as children and learners of English say them, by what they mean and by the place or the kind of place."""

GOALS: dict[GoalForm, tuple[str, ...]] = {
    "place": phrases(
        "Mommy says the {x} must go sleep in the {r} / Please to put {x} at the {r} / {x}. {r}. Thanks!",
        "Would be nice if the {x} ended up in the {r}. / the {x} it lives in the {r}, you bring?",
        "Relocate the {x}; destination: the {r}.",
    ),
    "clean": phrases(
        "the {x} is yucky, make it not yucky and then in the {r} / You must to wash the {x}, after you put in the {r}",
        "Scrub that {x} up and into the {r} with it. / {x} dirty! water! then {r}",
        "Give the {x} a bath and park it in the {r} / I'd like a spotless {x} waiting in the {r}",
    ),
    "heat": phrases(
        "make the {x} toasty and then it goes in the {r} / The {x} I want hot, and in the {r} it should be",
        "Please to make warm the {x} and give to the {r} / zap the {x} in the microwave, {r} after",
        "{x} is too cold! warm it, then the {r} gets it / One piping hot {x} to the {r}, please",
    ),
    "cool": phrases(
        "make the {x} brrr cold and put in the {r} / The {x} must be cold before it will stay in the {r}",
        "ice cold {x} into the {r} please / {x} is too hot, fridge it, then {r}",
        "Let the {x} get cold in the fridge, next the {r} / I like my {x} cold and in the {r}",
    ),
    "two": phrases(
        "gimme two {xs} in the {r} / In the {r} there must to be two of {xs} / {xs}: I need a couple, in the {r}",
        "The {r} wants {x} number one and {x} number two / all two {xs} go bye bye in the {r}",
        "Bring one {x} to the {r}, then bring one more",
    ),
    "light": phrases(
        "i can't see the {x}, shine the {lamp} on it / Under the {lamp} please to look the {x}",
        "let me see the {x} shiny by the {lamp} / {lamp} on, {x} in hand / With the {lamp} lit, take a good look at your {x}",
        "Could you check how the {x} looks in the glow of the {lamp}?",
    ),
}
"""Goals in words of children, learners of English and others. ``{x}``: the object, ``{xs}``: several, ``{r}``: the place."""

HABITS: dict[str, dict[str, str]] = {
    "ordinary houses": {},
    "kitchen things in odd places": {"mug": "microwave", "knife": "garbagecan", "apple": "cabinet"},
    "all in the safe": {"book": "safe", "pillow": "safe", "keychain": "armchair", "cloth": "cart"},
}
"""Made-up houses in which some objects are where they never were in ``train``."""

"""AI2-THOR's kinds of object: their names, and what can be done to one of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS = _kinds(
    """AlarmClock AluminumFoil Apple AppleSliced ArmChair BaseballBat BasketBall Bathtub BathtubBasin Bed Blinds Book Boots Bowl
    Box Bread BreadSliced ButterKnife Cabinet Candle Cart CD CellPhone Chair Cloth CoffeeMachine CoffeeTable CounterTop
    CreditCard Cup Curtains Desk DeskLamp DiningTable DishSponge Drawer Dresser Egg EggCracked Faucet FloorLamp Footstool Fork
    Fridge GarbageCan Glassbottle HandTowel HandTowelHolder HousePlant Kettle KeyChain Knife Ladle Lamp Laptop LaundryHamper
    LaundryHamperLid Lettuce LettuceSliced LightSwitch Microwave Mirror Mug Newspaper Ottoman Painting PaintingHanger Pan
    PaperTowel PaperTowelRoll Pen Pencil PepperShaker Pillow Plate Plunger Poster Pot Potato PotatoSliced RemoteControl Safe
    SaltShaker ScrubBrush Shelf ShowerCurtain ShowerDoor ShowerGlass ShowerHead SideTable Sink SinkBasin SoapBar SoapBottle Sofa
    Spatula Spoon SprayBottle Statue StoveBurner StoveKnob TVStand TeddyBear Television TennisRacket TissueBox Toaster Toilet
    ToiletPaper ToiletPaperHanger ToiletPaperRoll Tomato TomatoSliced Towel TowelHolder Vase Watch WateringCan Window
    WineBottle"""
)
"""The kinds of the build that ALFRED used, as they stand in its ids."""
OPENABLE = frozenset({"Blinds", "Book", "Box", "Laptop", "ShowerCurtain", "ShowerDoor", "Toilet"})
"""What can be opened besides the receptacles that a game names."""
TOGGLEABLE = _kinds(
    """Candle CellPhone CoffeeMachine DeskLamp Faucet FloorLamp Lamp Laptop LightSwitch Microwave
    ShowerHead StoveKnob Television Toaster"""
)
ENCLOSING = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
"""What takes nothing while it is closed."""
OPEN_AT_FIRST = frozenset({"Laptop"})
LAMPS = frozenset({"DeskLamp", "FloorLamp", "Lamp"})
SLICES: Mapping[str, tuple[str, int]] = {
    "Apple": ("AppleSliced", 2),
    "Bread": ("BreadSliced", 8),
    "Egg": ("EggCracked", 1),
    "Lettuce": ("LettuceSliced", 7),
    "Potato": ("PotatoSliced", 8),
    "Tomato": ("TomatoSliced", 6),
}
"""What can be sliced, and into what and how many: slices are numbered from 1 in their ids, as in ALFRED's annotations."""
KNIVES = frozenset({"ButterKnife", "Knife"})
DIRTYABLE = frozenset({"Bed", "Bowl", "Cloth", "Cup", "Mirror", "Mug", "Pan", "Plate", "Pot"})
_CUTLERY = "ButterKnife Fork Knife Spoon"
_FOOD = "Apple AppleSliced Bread BreadSliced Egg EggCracked Lettuce LettuceSliced Potato PotatoSliced Tomato TomatoSliced"
_SMALL = "CD Candle CellPhone CreditCard KeyChain Pen Pencil Watch"
MOVABLE: Mapping[str, frozenset[str]] = {
    "Bowl": _kinds(f"{_CUTLERY} {_FOOD} {_SMALL} DishSponge Ladle RemoteControl Spatula"),
    "Box": _kinds(f"{_SMALL} Book Newspaper RemoteControl Statue TissueBox Vase"),
    "Cup": _kinds(f"{_CUTLERY} Pen Pencil"),
    "Mug": _kinds(f"{_CUTLERY} Pen Pencil"),
    "Pan": _kinds(f"{_CUTLERY} {_FOOD} DishSponge Ladle Spatula"),
    "Plate": _kinds(f"{_CUTLERY} {_FOOD} {_SMALL} DishSponge Ladle RemoteControl Spatula TissueBox"),
    "Pot": _kinds(f"{_CUTLERY} {_FOOD} DishSponge Ladle Spatula"),
}
"""What holds things and can be carried, and what it takes."""


def kind_named(word: str) -> str:
    """The kind of a word in lower case, such as ``CD`` for "cd"; that of an unknown word is the word with a capital."""
    return _words().get(word.lower(), word[:1].upper() + word[1:])


def kind_in(id: str) -> str:
    """The kind of what has this id; a slice and a basin are named in its last part."""
    parts = id.split("|")
    return parts[4].partition("_")[0] if len(parts) > 4 else parts[0]


def whole(kind: str) -> str:
    """The kind of which ``kind`` is a slice, or ``kind`` itself."""
    return _wholes().get(kind, kind)


@cache
def _words() -> dict[str, str]:
    return {kind.lower(): kind for kind in KINDS}


@cache
def _wholes() -> dict[str, str]:
    return {sliced: kind for kind, (sliced, _) in SLICES.items()}

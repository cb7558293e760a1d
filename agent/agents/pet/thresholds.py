"""Thresholds of relevance as they were calibrated for a model: for places and for objects, by each way of scoring.

A score means something else for each model and each way, so `housequest modules` writes these for one model (PET, section 3.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from housequest.worlds.errors import ConfigurationError, shown
from housequest.worlds.options import Scalar
from housequest.worlds.paths import atomic_write, given_path, read_file

if TYPE_CHECKING:
    from housequest.worlds.household.base import Household

Way = Literal["probability", "answer"]
"""A way of scoring."""

_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Below which score a name of a place or of an object is masked."""

    places: float
    objects: float


def read_thresholds(file: Path) -> dict[Way, Thresholds]:
    """The thresholds in ``file``. Raises ``ConfigurationError`` for a file that holds none."""
    try:
        said: dict[str, Any] = json.loads(read_file(file, _LARGEST))
        found = {
            way: Thresholds(float(said[way]["places"]), float(said[way]["objects"])) for way in get_args(Way) if way in said
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _refused(file, shown(str(error), 200)) from None
    if not found or not all(0 <= each <= 1 for one in found.values() for each in (one.places, one.objects)):
        raise _refused(file, "it has no thresholds from 0 to 1")
    return found


def keep_thresholds(file: Path, way: Way, thresholds: Thresholds) -> None:
    """Write those of ``way`` into ``file``, beside those of another way. Raises ``ConfigurationError``."""
    kept = read_thresholds(file) if file.exists() else {}
    told = {one: asdict(each) for one, each in sorted({**kept, way: thresholds}.items())}
    try:
        atomic_write(file, json.dumps(told, indent=1).encode())
    except OSError as error:
        raise ConfigurationError(f"{shown(str(file), 400)} cannot be written: {error}.") from None


def threshold_digests(settings: Mapping[str, Scalar], household: Household | None) -> dict[str, str]:
    """The SHA-256 of the thresholds in pet's ``settings``, for a record; empty without any. Raises ``ConfigurationError``."""
    del household
    name = str(settings.get("thresholds", ""))
    if not name:
        return {}
    told = {way: asdict(each) for way, each in read_thresholds(given_path(name)).items()}
    return {"pet/thresholds": sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()}


def _refused(file: Path, why: str) -> ConfigurationError:
    way_out = "Calibrate some with `housequest modules RUN --model NAME --calibrate FILE`."
    return ConfigurationError(f"{shown(str(file), 400)} has no thresholds of pet: {why}. {way_out}")

"""Perceptions by their names: ``truth``, ``noisy:miss=0.2,confuse=0.1``, and detectors of the user's, ``onnx:objects=FILE`` and
``maskrcnn:objects=FILE``.

Detectors are networks with the classes of ALFWorld's detectors, in a file for each list of classes: Mask R-CNNs of torchvision
(extra ``maskrcnn``), or these exported to ONNX (extra ``detect``). Libraries are imported when the first file is read. No
trained detector was available to try it with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from housequest.agent.alfred.seeing.perception import Detection, Noise, Noisy, Percept, Perception, Truth
from housequest.worlds.errors import ConfigurationError, Unsupported, nearest, shown
from housequest.worlds.options import read_options
from housequest.worlds.rooms.render import Frame

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

# The orders in which ALFWorld's detectors number classes from 1 (alfworld 0.4, gen/constants.py); 0 is background.
OBJECTS = (
    "alarmclock apple applesliced baseballbat basketball book bowl box bread breadsliced butterknife cd candle cellphone cloth "
    "creditcard cup desklamp dishsponge egg faucet floorlamp fork glassbottle handtowel houseplant kettle keychain knife ladle "
    "laptop laundryhamperlid lettuce lettucesliced lightswitch mug newspaper pan papertowel papertowelroll pen pencil "
    "peppershaker pillow plate plunger pot potato potatosliced remotecontrol saltshaker scrubbrush showerdoor soapbar "
    "soapbottle spatula spoon spraybottle statue stoveknob teddybear television tennisracket tissuebox toiletpaper "
    "toiletpaperroll tomato tomatosliced towel vase watch wateringcan winebottle"
)
RECEPTACLES = (
    "armchair bathtub bathtubbasin bed cabinet cart coffeemachine coffeetable countertop desk diningtable drawer dresser "
    "fridge garbagecan handtowelholder laundryhamper microwave ottoman paintinghanger safe shelf sidetable sink sinkbasin sofa "
    "stoveburner tvstand toaster toilet toiletpaperhanger towelholder"
)
CLASSES: dict[str, tuple[str, ...]] = {"objects": tuple(OBJECTS.split()), "receptacles": tuple(RECEPTACLES.split())}
LEAST_SCORE = 0.5
LARGEST = 2 << 30
PICTURE = (300, 300)
"""Columns and rows of ALFRED's pictures, on which ALFWorld's detectors were trained."""

_OUTPUTS = 4
_LEVELS = 5
# How many anchors a place of the picture has tells which they are: those of ALFWorld's detectors, or torchvision's own.
_ANCHORS = {
    32: ((tuple(4 << power for power in range(8)),) * _LEVELS, ((0.25, 0.5, 1.0, 2.0),) * _LEVELS),
    3: (tuple((32 << level,) for level in range(_LEVELS)), ((0.5, 1.0, 2.0),) * _LEVELS),
}
_ANCHORED, _CLASSIFIED = "rpn.head.cls_logits.weight", "roi_heads.box_predictor.cls_score.weight"

Network = Callable[["NDArray[float32]"], "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"]
"""Labels, scores and masks, (number, 1, height, width) from 0 to 1, of a picture of 3 x height x width from 0 to 1."""
Reader = Callable[[Path, int], Network]
"""Reads a network with so many classes from a file. Raises ``ConfigurationError``, or anything at all for a broken file."""


@dataclass(frozen=True, slots=True)
class DetectorPerception:
    """Detections by one or two networks, those of objects and those of receptacles. Depth stays the simulator's own."""

    name: str
    networks: tuple[tuple[tuple[str, ...], Network], ...]
    size: tuple[int, int] = PICTURE

    @classmethod
    def load(cls, kind: str, files: Mapping[str, str], read: Reader) -> DetectorPerception:
        """Load a network of this ``kind`` for each list of classes in ``files``. Raises ``ConfigurationError``."""
        unknown = [one for one in files if one not in CLASSES]
        if unknown or not files:
            hint = nearest(unknown[0], tuple(CLASSES)) if unknown else ""
            raise ConfigurationError(f"{kind!r} takes objects=FILE and receptacles=FILE, by which classes the file has.{hint}")
        networks = tuple((CLASSES[which], _network(file, len(CLASSES[which]), read)) for which, file in files.items())
        return cls(f"{kind}:" + ",".join(f"{which}={Path(file).name}" for which, file in files.items()), networks)

    def see(self, frame: Frame, number: int) -> Percept:
        del number
        import numpy as np

        picture = np.ascontiguousarray(frame.rgb.transpose(2, 0, 1), np.float32) / np.float32(255)
        found: list[Detection] = []
        for classes, network in self.networks:
            labels, scores, masks = network(picture)
            label: int
            for label, score, mask in zip(labels.tolist(), scores.tolist(), masks, strict=True):
                if score >= LEAST_SCORE and 1 <= label <= len(classes):
                    found.append(Detection(classes[label - 1], float(score), mask.reshape(mask.shape[-2:]) >= LEAST_SCORE))
        return Percept(frame.depth, tuple(found))


def _network(file: str, classes: int, read: Reader) -> Network:
    path = Path(file).expanduser()
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{shown(file, 400)} is too large for a detector.")
        return read(path, classes)
    except ConfigurationError:
        raise
    except Exception as error:  # the libraries' own errors have no class in common
        raise ConfigurationError(f"{shown(file, 400)} cannot be loaded as a detector: {shown(str(error))}") from error


def read_onnx(path: Path, classes: int) -> Network:
    """Read a network exported to ONNX: one picture goes in; boxes, labels, scores and masks come out.

    Raises ``ConfigurationError``, and what onnxruntime raises for a broken file.
    """
    del classes
    onnxruntime = _imported("onnxruntime", "onnxruntime", "detect")
    session: Any = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if len(session.get_inputs()) != 1 or len(session.get_outputs()) != _OUTPUTS:
        raise ConfigurationError(
            f"{shown(str(path), 400)} is not a detector as torchvision exports it; give one with one input, and boxes, labels, "
            "scores and masks as outputs."
        )
    taken = session.get_inputs()[0]

    def run(picture: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        _, labels, scores, masks = session.run(None, {taken.name: picture[None] if len(taken.shape) == 4 else picture})
        return labels, scores, masks

    return run


def read_maskrcnn(path: Path, classes: int) -> Network:
    """Read the weights (a state dict, as ``torch.save`` writes it) of a Mask R-CNN over a ResNet-50 with feature pyramid.

    Only tensors are read, and no code is run. Raises ``ConfigurationError``, and what torch raises for a broken file.
    """
    torch = _imported("torch", "torch and torchvision", "maskrcnn")
    detection = _imported("torchvision.models.detection", "torch and torchvision", "maskrcnn")
    weights: Any = torch.load(path, map_location="cpu", weights_only=True)
    anchors = _ANCHORS.get(_rows(weights, _ANCHORED, path))
    there = _rows(weights, _CLASSIFIED, path) - 1
    if there != classes:
        raise ConfigurationError(f"{shown(str(path), 400)} has {there} classes, not the {classes} of ALFWorld's detector.")
    if anchors is None:
        raise ConfigurationError(
            f"{shown(str(path), 400)} has neither the anchors of ALFWorld's detectors nor those of torchvision's Mask R-CNN."
        )
    # As in the weights from which ALFWorld's detectors were trained, nothing is added to variances.
    frozen = partial(import_module("torchvision.ops").FrozenBatchNorm2d, eps=0.0)
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet50", weights=None, norm_layer=frozen)
    generator = detection.anchor_utils.AnchorGenerator(*anchors)
    model: Any = detection.MaskRCNN(backbone, classes + 1, rpn_anchor_generator=generator)
    model.load_state_dict(weights)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).eval()

    def run(picture: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        with torch.inference_mode():
            found = model([torch.from_numpy(picture).to(device)])[0]
        labels, scores, masks = (found[name].cpu().numpy() for name in ("labels", "scores", "masks"))
        return labels, scores, masks

    return run


def _rows(weights: Any, name: str, path: Path) -> int:
    """The first dimension of the tensor of this name."""
    known = cast("dict[str, Any]", weights) if isinstance(weights, dict) else dict[str, Any]()
    shape = getattr(known.get(name), "shape", ())
    if not shape:
        raise ConfigurationError(
            f"{shown(str(path), 400)} has no {name}, so it is not a state dict of torchvision's Mask R-CNN with a ResNet-50; "
            "give one."
        )
    return int(shape[0])


def _imported(module: str, packages: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(f"This detector needs {packages}: pip install 'housequest[{extra}]' ({error}).") from error


_DETECTORS: dict[str, Reader] = {"onnx": read_onnx, "maskrcnn": read_maskrcnn}


def make_perception(text: str, *, pictures: str = "boxes") -> Perception:
    """The perception that ``text`` names; ``pictures`` is what draws the frames, such as ``boxes``.

    Raises ``ConfigurationError``, and ``Unsupported`` for a detector of photographs where pictures are of boxes.
    """
    kind, _, rest = text.strip().partition(":")
    if kind == "truth" and not rest:
        return Truth()
    if kind == "noisy":
        return Noisy(read_options(Noise, _pairs(rest, text), owner=f"The perception {kind!r}"))
    if kind in _DETECTORS:
        if pictures.partition(" ")[0] == "boxes":
            raise Unsupported(
                f"A detector trained on photographs sees nothing in pictures of boxes, so {kind!r} is refused with the engine "
                "'boxes'; take seeing=truth or seeing=noisy:miss=0.2,confuse=0.1,depth=0.05, or play with --engine thor."
            )
        return DetectorPerception.load(kind, _pairs(rest, text), _DETECTORS[kind])
    raise ConfigurationError(
        f"There is no perception {shown(text)}; known: truth, noisy:miss=0.2,confuse=0.1,depth=0.05,seed=0, "
        "onnx:objects=FILE,receptacles=FILE and maskrcnn:objects=FILE,receptacles=FILE."
    )


def _pairs(text: str, whole: str) -> dict[str, str]:
    parts = (part.partition("=") for part in text.split(",") if part)
    pairs = {name: value for name, _, value in parts}
    if text and not all(name and value for name, value in pairs.items()):
        raise ConfigurationError(f"{shown(whole)} is not a perception; write name=value after the colon, with commas between.")
    return {name.strip(): value.strip() for name, value in pairs.items()}

"""Weights of torchvision's Mask R-CNN as a perception, drawn at random, beside torchvision's own model of them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from housequest.agent.alfred.seeing.perception import CLASSES, LEAST_SCORE, make_perception
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.rooms.room import Box, Pose
from tests.agent.alfred.seeing.frames import drawn

torch = pytest.importorskip("torch", reason="needs torch: pip install 'housequest[maskrcnn]'")
detection = pytest.importorskip("torchvision.models.detection", reason="needs torchvision: pip install 'housequest[maskrcnn]'")

pytestmark = pytest.mark.slow

SEEN = ("mug", "vase")
ALFWORLDS = ((4, 8, 16, 32, 64, 128, 256, 512),) * 5, ((0.25, 0.5, 1.0, 2.0),) * 5
"""Anchors of ALFWorld's detectors: sizes and ratios at each of five levels."""


def model_of(names: Sequence[str], seen: Sequence[str] = (), *, alfworlds: bool = True) -> Any:
    """A model of these classes, its weights drawn at random, that takes everything for one of ``seen``, and for certain."""
    torch.manual_seed(3)
    anchors = {"rpn_anchor_generator": detection.anchor_utils.AnchorGenerator(*ALFWORLDS)} if alfworlds else {}
    model = detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=len(names) + 1, **anchors)
    with torch.no_grad():
        for kind, sure in zip(seen, (9.0, 8.5), strict=False):
            model.roi_heads.box_predictor.cls_score.bias[names.index(kind) + 1] = sure
        for part in model.backbone.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                part.eps = 0.0
    return model.eval()


@pytest.fixture(scope="module")
def model() -> Any:
    return model_of(CLASSES["objects"], SEEN)


def test_a_checkpoint_sees_what_its_model_sees(model: Any, tmp_path: Path) -> None:
    torch.save(model.state_dict(), tmp_path / "objects.pth")
    frame = drawn(Pose(0, 0, 0, 0), ("mug 1", Box(-0.5, 0.8, 1, 0.5, 1.8, 1.5)), size=120)
    perception = make_perception(f"maskrcnn:objects={tmp_path / 'objects.pth'}", pictures="ai2thor 5.0.0")
    percept = perception.see(frame, 0)
    with torch.inference_mode():
        known = model([torch.from_numpy(frame.rgb.copy()).permute(2, 0, 1).float() / 255])[0]
    wanted = [place for place, score in enumerate(known["scores"].tolist()) if score >= LEAST_SCORE]
    assert wanted, "the model sees nothing"
    assert [one.kind for one in percept.detections] == [
        CLASSES["objects"][known["labels"][place].item() - 1] for place in wanted
    ]
    assert {one.kind for one in percept.detections} <= set(SEEN)
    assert [one.score for one in percept.detections] == pytest.approx(
        [known["scores"][place].item() for place in wanted], abs=1e-5
    )
    for one, place in zip(percept.detections, wanted, strict=True):
        assert one.mask.shape == (120, 120)
        assert np.mean(one.mask != (known["masks"][place, 0].numpy() >= LEAST_SCORE)) < 0.001
    assert percept.depth is frame.depth
    assert perception.size == (300, 300)


def name_of_2020(name: str) -> str:
    """What torchvision called a weight when ALFWorld's detectors were trained: layers were in no blocks of their own."""
    name = re.sub(r"mask_head\.(\d)\.0\.", lambda found: f"mask_head.mask_fcn{int(found[1]) + 1}.", name)
    return re.sub(r"(rpn\.head\.conv\.0|fpn\.(?:inner|layer)_blocks\.\d)\.0\.", lambda found: f"{found[1]}.", name).replace(
        "conv.0.", "conv."
    )


def test_weights_with_the_names_of_2020_and_the_anchors_of_torchvision_are_read(tmp_path: Path) -> None:
    new = model_of(CLASSES["receptacles"], alfworlds=False).state_dict()
    kept = {name_of_2020(name): weights for name, weights in new.items() if not name.endswith("num_batches_tracked")}
    assert len(kept.keys() - new.keys()) == 26
    torch.save(kept, tmp_path / "receptacles.pth")
    make_perception(f"maskrcnn:receptacles={tmp_path / 'receptacles.pth'}", pictures="ai2thor 5.0.0")


def test_what_is_no_such_checkpoint_is_refused(model: Any, tmp_path: Path) -> None:
    file = tmp_path / "weights.pth"

    def refused(said: str, which: str = "objects") -> None:
        with pytest.raises(ConfigurationError, match=said):
            make_perception(f"maskrcnn:{which}={file}", pictures="ai2thor 5.0.0")

    refused("cannot be loaded as a detector")
    for content in (b"", b"no weights", pickle.dumps({"a": print})):
        file.write_bytes(content)
        refused("cannot be loaded as a detector")
    torch.save(model, file)
    refused("cannot be loaded as a detector")
    for weights in ([1], {}, {"rpn.head.cls_logits.weight": 3}):
        torch.save(weights, file)
        refused("not a state dict")
    state = model.state_dict()
    torch.save(state, file)
    refused("has 73 classes, not the 32", "receptacles")
    torch.save({**state, "rpn.head.cls_logits.weight": torch.zeros(5, 256, 1, 1)}, file)
    refused("neither the anchors")
    torch.save({name: weights for name, weights in state.items() if "layer4" not in name}, file)
    refused("cannot be loaded as a detector.*layer4")

"""Images resized by Pillow and OpenCV → `F.interpolate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .effect_rewrites import declined, outcome, rewritten

HEAD = """\
import cv2
import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image


"""
PILLOW = """\
def f(batch: torch.Tensor, side=4):
    out = []
    for row in batch:
        pixels = (row.clamp(0, 1) * 255).byte()  # levels
        image = Image.fromarray(pixels.permute(1, 2, 0).cpu().numpy())
        small = image.resize((side, 2 * side), Image.BILINEAR)
        out.append(torch.from_numpy(np.asarray(small).copy()).permute(2, 0, 1) / 255)
    return torch.stack(out)
"""
PILLOW_AFTER = """\
def f(batch: torch.Tensor, side=4):
    out = []
    for row in batch:
        pixels = (row.clamp(0, 1) * 255).byte()  # levels
        small = F.interpolate(
            pixels.cpu()[None], size=(2 * side, side), mode="bilinear", antialias=True
        )[0]
        out.append(small / 255)
    return torch.stack(out)
"""
OPENCV = """\
def f(x: torch.Tensor):
    large = cv2.resize(x.permute(1, 2, 0).numpy(), (12, 10), interpolation=cv2.INTER_CUBIC)
    return torch.from_numpy(large).permute(2, 0, 1)
"""
OPENCV_AFTER = """\
def f(x: torch.Tensor):
    large = F.interpolate(x[None], size=(10, 12), mode="bicubic")[0]
    return large
"""
NEAREST = """\
def f(x: torch.Tensor):
    gray = (x[0, 0] * 255).clamp(0, 255)
    small = Image.fromarray(gray.byte().numpy()).resize((3, 2), Image.Resampling.NEAREST)
    return torch.tensor(np.array(small)) + 1
"""
PAIRS = [
    ("pillow", PILLOW, PILLOW_AFTER, [(2, 3, 16, 8), (1, 3, 6, 6)]),
    ("opencv", OPENCV, OPENCV_AFTER, [(3, 5, 6), (3, 40, 20)]),
]


@pytest.mark.truth
@pytest.mark.parametrize(("name", "before", "after", "shapes"), PAIRS)
def test_resizing_says_the_same(
    name: str, before: str, after: str, shapes: list[tuple[int, ...]], tmp_path: Path
) -> None:
    import torch

    pytest.importorskip("cv2")
    pytest.importorskip("PIL")
    made = rewritten(HEAD + before, ["CL310"])
    assert made.endswith(after), made
    assert "PIL" not in made
    for shape in shapes:
        argument = (torch.rand(shape),)
        want = outcome(HEAD + before, tmp_path / "before.py", argument, compiled=False)
        got = outcome(made, tmp_path / "after.py", argument, compiled=True)
        torch.testing.assert_close(got, want)


DECLINED = [
    (PILLOW.replace("BILINEAR", "LANCZOS"), "torch has no filter like `LANCZOS`"),
    (OPENCV.replace("(12, 10)", "None, fx=2, fy=2"), "the size isn't in sight"),
    (OPENCV.replace("CUBIC", "AREA"), "torch has no filter like `INTER_AREA`"),
    (NEAREST.replace("x[0, 0]", "x"), "how many dimensions the image has isn't known"),
    (PILLOW.replace("BILINEAR)", "BILINEAR, box=(0, 0, 2, 2))"), "`box=`"),
]


@pytest.mark.parametrize(("text", "reason"), DECLINED)
def test_resizing_that_stays(text: str, reason: str) -> None:
    assert any(reason in said for said in declined(HEAD + text, "CL310"))

"""Packages whose calls were tried and break the graph."""

from __future__ import annotations

# Packages whose calls were tried and break, with the id that `fullgraph=True` gives for most.
PACKAGES = {
    "scipy": "GB0007",
    "PIL": "GB0007",
    "cv2": "GB0007",
    "pywt": "GB0156",
    "skimage": "GB0157",
    "matplotlib": "GB0156",
    "librosa": "GB0294",
    "pycocotools": "GB0294",
    "shapely": "GB0157",
    "numba": "GB0156",
    "psutil": "GB0007",
    "regex": "GB0156",
    "sentencepiece": "GB0007",
    "tokenizers": "GB0156",
    "rapidfuzz": "GB0156",
    "lxml": "GB0156",
    "jinja2": "GB0142",
    "jsonschema": "GB0116",
}
CAPTURED = frozenset(
    {
        "scipy.special.softmax",
        "PIL.ImageFilter.GaussianBlur",
        "PIL.ImageEnhance.Color",
        "matplotlib.pyplot.close",
        "regex.compile",
    }
)

__all__ = ["CAPTURED", "PACKAGES"]

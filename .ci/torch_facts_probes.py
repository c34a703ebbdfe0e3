"""What Dynamo does with numpy, builtins and the standard library: read where torch says it,
measured where it does not. A part of ``generate_torch_facts.py``.

A measured value is ``ok`` or the graph-break id (``GB0059``) that a one-line function compiled
with ``fullgraph=True`` stops with; ``break`` when the error carries no id.
"""

from __future__ import annotations

import importlib
import platform
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch._dynamo
from torch._dynamo import trace_rules
from torch._dynamo.variables.misc import get_np_to_tnp_map

# One call a line, builtins first. ``x`` is a float tensor, ``s`` a string, ``n`` a list of ints,
# ``o`` an object with attributes, ``d`` a dataclass instance.
PYTHON_CALLS = Path(__file__).with_name("python_calls.txt")


class _Plain:
    """An object with attributes to read, write and delete."""

    name = "a"

    def __init__(self) -> None:
        self.gone = 1


def _dataclass() -> Any:
    import dataclasses

    return dataclasses.make_dataclass("Point", [("a", int)])(1)


def versions() -> dict[str, str]:
    """The release the facts speak of; local parts such as ``+cpu`` say nothing about Python."""
    return {
        "torch": torch.__version__.split("+")[0],
        "numpy": ".".join(np.__version__.split(".")[:2]),
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def measure(source: str, scope: Mapping[str, Any], types: Mapping[str, str], *args: Any) -> str:
    """Compile ``f`` of ``source`` with ``fullgraph=True``, call it, and name what stopped it."""
    namespace = dict(scope)
    exec(source, namespace)
    torch._dynamo.reset()
    try:
        torch.compile(namespace["f"], backend="eager", fullgraph=True)(*args)
    except Exception as error:  # any failure to capture is a finding
        first = str(error).split("\n", 1)[0].strip()
        return types.get(first, "break")
    return "ok"


def runs_eagerly(source: str, scope: Mapping[str, Any], *args: Any) -> bool:
    namespace = dict(scope)
    exec(source, namespace)
    try:
        namespace["f"](*args)
    except Exception:  # a name that this Python or numpy lacks
        return False
    return True


def dotted_name(call: str) -> str:
    # ``pathlib.Path('a').exists()`` is the method of the class.
    name = re.sub(r"\('a'\)(?=\.)", "", call)
    return name.split("(", 1)[0]


def python_table(types: Mapping[str, str]) -> dict[str, str]:
    """``builtins.print`` -> ``ok`` or the id of the break. Names that fail here are absent."""
    table = {}
    state = random.getstate()
    for call in PYTHON_CALLS.read_text(encoding="utf-8").splitlines():
        name = dotted_name(call)
        scope: dict[str, Any] = {}
        for module in re.findall(r"\b([a-z_]\w*(?:\.[a-z]\w*)*)\.\w+", call):
            import_root(module, scope)
        source = f"def f(x, s, n, o, d):\n    y = {call}\n    return x + 1"
        args = (torch.ones(2), "text", [1, 2, 3], _Plain(), _dataclass())
        if runs_eagerly(source, scope, *args):
            args = (torch.ones(2), "text", [1, 2, 3], _Plain(), _dataclass())
            key = name if "." in name else f"builtins.{name}"
            table[key] = measure(source, scope, types, *args)
    random.setstate(state)
    return table


def import_root(module: str, scope: dict[str, Any]) -> None:
    root = module.split(".", 1)[0]
    try:
        scope[root] = importlib.import_module(root)
        importlib.import_module(module)
    except ImportError:
        return  # ``os.environ`` is no module


def numpy_table() -> dict[str, str]:
    """``numpy.linalg.norm`` -> ``yes``, ``no``, ``constant`` or ``random``.

    ``random``: covered, so arrays of draws go into the graph; a single draw becomes a Python
    number taken out of a tensor, which breaks as ``.item()`` does.
    """
    covered = get_np_to_tnp_map()
    table = {}
    for module in (np, np.linalg, np.fft, np.random):
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            value = getattr(module, name, None)
            if type(value).__name__ == "module" or (value is None and name != "newaxis"):
                continue
            key = f"{module.__name__}.{name}"
            if not callable(value):
                table[key] = "constant"
            elif trace_rules.is_numpy(value) and _mapped(covered, value):
                draws = module is np.random and name not in ("seed", "shuffle")
                table[key] = "random" if draws else "yes"
            else:
                table[key] = "no"
    return table


def _mapped(covered: Mapping[Any, Any], value: Any) -> bool:
    try:
        return value in covered
    except TypeError:
        return False


def ndarray_table(types: Mapping[str, str]) -> dict[str, str]:
    """Attributes and methods of arrays -> ``ok`` or the id of the break, measured."""
    table = {}
    for name in sorted(n for n in dir(np.ndarray) if not n.startswith("_")):
        if callable(getattr(np.ndarray, name)):
            for arguments in ("", "0", "np.float64", "a", "(2, 2)", "[0]", "0, 1", "'wb'"):
                source = f"def f(a):\n    b = a + 1\n    return b.{name}({arguments})"
                if runs_eagerly(source, {"np": np}, np.ones((2, 2))):
                    table[name] = measure(source, {"np": np}, types, np.ones((2, 2)))
                    if table[name] == "ok":
                        break
        else:
            source = f"def f(a):\n    b = a + 1\n    c = b.{name}\n    return b"
            table[name] = measure(source, {"np": np}, types, np.ones((2, 2)))
    return table

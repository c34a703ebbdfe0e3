"""CL308: files and the network."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from .processes import is_process
from .seen import call_seen, shown, top
from .stdlib import break_id

_MODULES = frozenset(
    {
        "os",
        "pathlib",
        "io",
        "shutil",
        "glob",
        "fnmatch",
        "tempfile",
        "gzip",
        "bz2",
        "lzma",
        "zipfile",
        "tarfile",
        "csv",
        "json",
        "pickle",
        "marshal",
        "shelve",
        "sqlite3",
        "configparser",
        "socket",
        "ssl",
        "select",
        "http",
        "urllib",
        "linecache",
        "mmap",
    }
)
_SERIALISERS = frozenset({"json", "pickle", "marshal", "orjson", "msgpack", "yaml"})
_TORCH = frozenset({"torch.save", "torch.load", "torch.from_file"})
_NUMPY = frozenset(
    {
        "numpy.load",
        "numpy.loadtxt",
        "numpy.genfromtxt",
        "numpy.fromfile",
        "numpy.fromregex",
        "numpy.memmap",
        "numpy.save",
        "numpy.savez",
        "numpy.savez_compressed",
        "numpy.savetxt",
    }
)
_PACKAGES = {
    "requests": "GB0156",
    "h5py": "GB0156",
    "soundfile": "GB0156",
    "imageio": "GB0007",
    "orjson": "GB0007",
    "msgpack": "GB0156",
    "filelock": "GB0007",
    "nibabel": "GB0007",
}
_NAMES = {"yaml.dump": "GB0156", "torch.utils.tensorboard.SummaryWriter": "GB0008"}


def is_io(name: str) -> bool:
    """Say whether a canonical name is one that this rule speaks of."""
    return (
        name == "builtins.open"
        or (top(name) in _MODULES and not is_process(name))
        or name in _TORCH
        or name in _NUMPY
        or name.startswith("torch.hub.")
    )


class FileIo(Rule):
    """Files, serialisation or the network, inside compiled code.

    ## What it does
    Flags `open` and what is done with the file, `pathlib` and `os` calls that ask the disk, `json`,
    `pickle`, `torch.save`, `torch.load`, `np.load`, sockets, `urllib`, `requests`, tensorboard.

    ## Why it matters
    None of this can be part of a graph, which ends at the call; and the file is read or written on
    every call of the compiled function.

    ## Example
    See the bad and good modules below.

    ## Fix
    Read before the compiled function is called and pass the result in, or keep it as an attribute
    or buffer. Write what the function returns, from the caller.

    ## When it is safe
    Path arithmetic (`os.path.join`, `Path(a) / b`) and reading `os.environ` are captured, and are
    not reported.
    """

    code = "CL308"
    name = "file-io"
    summary = "files and the network end the graph"
    nodes = (ast.Call,)
    callees = (
        "builtins.open",
        "torch.hub.",
        *_PACKAGES,
        *_NAMES,
        *sorted(_MODULES | _TORCH | _NUMPY),
    )
    graph_breaks = ("GB0007", "GB0059", "GB0156", "GB0142", "GB0294", "GB0008")
    examples = (
        Example(
            bad="""
import os
import torch

def f(x):
    if os.path.exists("/tmp/scale.txt"):  # error: CL308
        return x * 2
    return x
""",
            good="""
import os
import torch

HAS_SCALE = os.path.exists("/tmp/scale.txt")

def f(x):
    if HAS_SCALE:
        return x * 2
    return x
""",
        ),
        Example(
            bad="""
import json
import torch

def f(x, text):
    return x * json.loads(text)  # error: CL308
""",
            good="""
import torch

def f(x, text):
    return x * int(text)
""",
            inputs="[(torch.randn(3), '2')]",
        ),
        Example(
            bad="""
import torch

def f(x):
    torch.save(x, "/tmp/compile-lint-example.pt")  # error: CL308
    return x + 1
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that does I/O."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        id = _PACKAGES.get(top(name), "")
        if not id:
            whole = name + "."
            id = next((i for known, i in _NAMES.items() if whole.startswith(known + ".")), "")
        if not id and is_io(name):
            if name in _NUMPY:
                id = "GB0294"
            elif name.startswith("torch."):
                id = ctx.torch.break_id(name) or ""
            else:
                id = break_id(name, ctx.torch)
        if id:
            what = "serialises" if top(name) in _SERIALISERS else "does I/O"
            yield call_seen(node, callee, f"`{shown(node)}` {what}, which a graph can't hold", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: when to read and write is the caller's choice."""
        raise Declined("read and write files outside of compiled code")

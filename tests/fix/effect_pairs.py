"""Calls and effects, before and after: (name, rules, before, after, inputs of `f`)."""

from __future__ import annotations

TENSOR = "[(torch.randn(3, requires_grad=True),)]"

PAIRS = [
    (
        "lists that get too long are broken open",
        "CL302",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


def f(x: torch.Tensor, kwargs: dict):
    known = {"alpha", "beta"}
    strange_ones = [key for key in kwargs.keys() if key not in known if key not in ("_alph", "_z")]
    if len(strange_ones) > 0:
        logger.warning(f"{strange_ones} are not expected")
    return x * 2


def g(x: torch.Tensor, kwargs: dict):
    strange = [kwargs.get("a_name"), kwargs.get("another"), kwargs.get("third_one"), kwargs.pop, 1]
    if len(strange) > 4:
        logger.warning(f"{strange} are not expected")
    return x * 2
""",
        """\
import logging

import torch

logger = logging.getLogger(__name__)


def f(x: torch.Tensor, kwargs: dict):
    if not torch.compiler.is_compiling():
        known = {"alpha", "beta"}
        strange_ones = [
            key for key in kwargs.keys() if key not in known if key not in ("_alph", "_z")
        ]
        if len(strange_ones) > 0:
            logger.warning(f"{strange_ones} are not expected")
    return x * 2


def g(x: torch.Tensor, kwargs: dict):
    if not torch.compiler.is_compiling():
        strange = [
            kwargs.get("a_name"),
            kwargs.get("another"),
            kwargs.get("third_one"),
            kwargs.pop,
            1,
        ]
        if len(strange) > 4:
            logger.warning(f"{strange} are not expected")
    return x * 2
""",
        "[(torch.randn(3, requires_grad=True), {})]",
    ),
    (
        "a counter of the module stays",
        "CL301",
        """\
import torch

CALLS = 0


def f(x: torch.Tensor):
    global CALLS
    CALLS += 1
    print("call", CALLS)
    return x.sin()
""",
        """\
import torch

CALLS = 0


def f(x: torch.Tensor):
    global CALLS
    CALLS += 1
    if not torch.compiler.is_compiling():
        print("call", CALLS)
    return x.sin()
""",
        TENSOR,
    ),
    (
        "print",
        "CL301",
        """\
import torch


def f(x: torch.Tensor):
    y = x.sin()
    # how large it gets
    norm = y.norm().item()
    print("norm", norm)  # seen by hand
    print("mean", y.mean())
    return y
""",
        """\
import torch


def f(x: torch.Tensor):
    y = x.sin()
    # how large it gets
    if not torch.compiler.is_compiling():
        norm = y.norm().item()
        print("norm", norm)  # seen by hand
        print("mean", y.mean())
    return y
""",
        TENSOR,
    ),
    (
        "a name that is a key afterwards",
        "CL302",
        """\
import logging

import torch

log = logging.getLogger(__name__)
SEEN = {}


def f(x: torch.Tensor, name: str):
    key = name.lower()
    if key in SEEN:
        log.warning("%s is replaced", key)
    SEEN[key] = 1
    return x * 2
""",
        """\
import logging

import torch

log = logging.getLogger(__name__)
SEEN = {}


def f(x: torch.Tensor, name: str):
    key = name.lower()
    if not torch.compiler.is_compiling() and key in SEEN:
        log.warning("%s is replaced", key)
    SEEN[key] = 1
    return x * 2
""",
        '[(torch.ones(3), "A"), (torch.ones(3), "a")]',
    ),
    (
        "logging under a tensor test",
        "CL302",
        """\
import logging

import torch

log = logging.getLogger(__name__)


def f(x: torch.Tensor, verbose=False):
    if x.isnan().any():
        log.warning("nan")
    elif verbose or x.dim() > 3:
        log.info("fine")
    if verbose:
        log.info("done")
    y = x * 2
    if verbose or x.dim() > 3:
        log.info("done")
    return y
""",
        """\
import logging

import torch

log = logging.getLogger(__name__)


def f(x: torch.Tensor, verbose=False):
    if not torch.compiler.is_compiling():
        if x.isnan().any():
            log.warning("nan")
        elif verbose or x.dim() > 3:
            log.info("fine")
        if verbose:
            log.info("done")
    y = x * 2
    if not torch.compiler.is_compiling() and (verbose or x.dim() > 3):
        log.info("done")
    return y
""",
        TENSOR,
    ),
    (
        "long call",
        "CL303",
        """\
import warnings

import torch


def f(x: torch.Tensor, n=5):
    if n > x.shape[0]:
        warnings.warn("the sequence is longer than the table of places", stacklevel=2)
        n = x.shape[0]
    return x[:n]
""",
        """\
import warnings

import torch


def f(x: torch.Tensor, n=5):
    if n > x.shape[0]:
        if not torch.compiler.is_compiling():
            warnings.warn(
                "the sequence is longer than the table of places", stacklevel=2
            )
        n = x.shape[0]
    return x[:n]
""",
        TENSOR,
    ),
    (
        "time",
        "CL304",
        """\
import time

import torch
from torch import nn


class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.spent = []

    def forward(self, x, profile=True):
        if profile:
            start = time.time()
        y = x.sin()
        end = time.time()
        if profile:
            self.spent.append(end - start)
        return y
""",
        """\
import time

import torch
from torch import nn


class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.spent = []

    def forward(self, x, profile=True):
        if not torch.compiler.is_compiling() and profile:
            start = time.time()
        y = x.sin()
        if not torch.compiler.is_compiling():
            end = time.time()
            if profile:
                self.spent.append(end - start)
        return y
""",
        TENSOR,
    ),
    (
        "progress bar",
        "CL324",
        """\
import torch
from tqdm import tqdm


def f(x: torch.Tensor):
    for step in tqdm(range(3), desc="all"):
        x = x + step
    return x
""",
        """\
import torch
from tqdm import tqdm


def f(x: torch.Tensor):
    steps = range(3)
    if not torch.compiler.is_compiling():
        steps = tqdm(steps, desc="all")
    for step in steps:
        x = x + step
    return x
""",
        "",  # tqdm need not be installed
    ),
    (
        "deepcopy",
        "CL313",
        """\
import copy

import torch


def f(x: torch.Tensor):
    kept = copy.deepcopy(x)
    other = copy.copy([x, 1])
    return x.sin() + kept + other[1]
""",
        """\
import torch


def f(x: torch.Tensor):
    kept = x.detach().clone()
    other = [x, 1]
    return x.sin() + kept + other[1]
""",
        TENSOR,
    ),
    (
        "class inside",
        "CL321",
        """\
import torch


# what it is about
def f(x: torch.Tensor):
    class Bias:
        def __init__(self, value):
            self.value = value

        def add(self, x):
            return x + self.value

    return Bias(2.0).add(x)
""",
        """\
import torch


class Bias:
    def __init__(self, value):
        self.value = value

    def add(self, x):
        return x + self.value


# what it is about
def f(x: torch.Tensor):
    return Bias(2.0).add(x)
""",
        TENSOR,
    ),
    (
        "optional import",
        "CL312",
        """\
import torch


def f(x: torch.Tensor):
    try:
        import package_that_is_missing as fast
    except ImportError:
        return x + 1
    return fast.add(x)
""",
        """\
import torch

try:
    import package_that_is_missing as fast
except ImportError:
    fast = None


def f(x: torch.Tensor):
    if fast is None:
        return x + 1
    return fast.add(x)
""",
        TENSOR,
    ),
    (
        "optional import and its use",
        "CL312",
        """\
import torch


def f(x: torch.Tensor):
    try:
        from package_that_is_missing import fast

        return fast(x)
    except ImportError:
        pass
    return x + 1
""",
        """\
import torch

try:
    from package_that_is_missing import fast
except ImportError:
    fast = None


def f(x: torch.Tensor):
    if fast is not None:
        return fast(x)
    return x + 1
""",
        TENSOR,
    ),
    (
        "attention probe",
        "CL325",
        """\
import torch


def possible(q, k, v):
    args = torch.backends.cuda.SDPAParams(q, k, v, None, 0.0, False, False)
    return torch.backends.cuda.can_use_flash_attention(args, False)


def f(q: torch.Tensor):
    return q.sin() if possible(q, q, q) else q.cos()
""",
        """\
import torch


def possible(q, k, v):
    if torch.compiler.is_compiling():
        return False
    args = torch.backends.cuda.SDPAParams(q, k, v, None, 0.0, False, False)
    return torch.backends.cuda.can_use_flash_attention(args, False)


def f(q: torch.Tensor):
    return q.sin() if possible(q, q, q) else q.cos()
""",
        "[(torch.randn(1, 2, 4, 8),)]",
    ),
    (
        "inference mode",
        "CL419",
        """\
import torch


def f(x: torch.Tensor, training=True):
    if training and x.is_inference():
        return x.clone()
    return x * 2
""",
        """\
import torch


def f(x: torch.Tensor, training=True):
    if training and not torch.compiler.is_compiling() and x.is_inference():
        return x.clone()
    return x * 2
""",
        TENSOR,
    ),
    (
        "try around a product",
        "CL525",
        """\
import torch


def f(a: torch.Tensor, b: torch.Tensor):
    try:
        y = a @ b  # the usual case
    except RuntimeError:
        y = a @ b.transpose(-1, -2)
    return y
""",
        """\
import torch


def f(a: torch.Tensor, b: torch.Tensor):
    if a.shape[-1] == b.shape[-2]:
        y = a @ b  # the usual case
    else:
        y = a @ b.transpose(-1, -2)
    return y
""",
        "[(torch.randn(2, 3), torch.randn(3, 4)), (torch.randn(2, 3), torch.randn(4, 3))]",
    ),
    (
        "enter by hand",
        "CL516",
        """\
import torch


def f(x: torch.Tensor):
    guard = torch.no_grad()
    guard.__enter__()
    y = x + 1
    guard.__exit__(None, None, None)
    return y * x
""",
        """\
import torch


def f(x: torch.Tensor):
    with torch.no_grad():
        y = x + 1
    return y * x
""",
        TENSOR,
    ),
    (
        "values without gradient",
        "CL524",
        """\
import torch


def f(x: torch.Tensor):
    y = torch.relu(x)
    y.data = x.sign()  # straight through
    return y
""",
        """\
import torch


def f(x: torch.Tensor):
    y = torch.relu(x)
    y = y + (x.sign() - y).detach()  # straight through
    return y
""",
        TENSOR,
    ),
    (
        "leaf of habit",
        "CL507",
        """\
import torch


def f(x: torch.Tensor):
    shift = torch.zeros(3, requires_grad=True)
    return x + shift
""",
        """\
import torch


def f(x: torch.Tensor):
    shift = torch.zeros(3)
    return x + shift
""",
        TENSOR,
    ),
    (
        "hook that never runs",
        "CL510",
        """\
import torch


def f(x: torch.Tensor):
    y = x * 2
    handle = y.register_hook(lambda grad: grad * 2)
    handle.remove()
    return y + 1
""",
        """\
import torch


def f(x: torch.Tensor):
    y = x * 2
    return y + 1
""",
        TENSOR,
    ),
    (
        "fork",
        "CL316",
        """\
import torch


def double(x):
    return x * 2


def f(x: torch.Tensor):
    later = torch.jit.fork(double, x)
    return torch.jit.wait(later)
""",
        """\
import torch


def double(x):
    return x * 2


def f(x: torch.Tensor):
    later = double(x)
    return later
""",
        TENSOR,
    ),
    (
        "assignment",
        "CL310",
        """\
import torch
from scipy.optimize import linear_sum_assignment


@torch.no_grad()
def f(cost: torch.Tensor):
    rows, cols = linear_sum_assignment(cost.cpu().numpy())
    return torch.as_tensor(rows), torch.as_tensor(cols)
""",
        """\
import torch
from scipy.optimize import linear_sum_assignment


@torch.library.custom_op("m::linear_sum_assignment", mutates_args=())
def linear_sum_assignment_op(cost: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, cols = linear_sum_assignment(cost.detach().cpu().numpy())
    return torch.as_tensor(rows), torch.as_tensor(cols)


@linear_sum_assignment_op.register_fake
def _(cost):
    rows = torch.empty(min(cost.shape), dtype=torch.int64)
    cols = torch.empty(min(cost.shape), dtype=torch.int64)
    return rows, cols


@torch.no_grad()
def f(cost: torch.Tensor):
    rows, cols = linear_sum_assignment_op(cost)
    return rows, cols
""",
        "[(torch.rand(4, 3),)]",
    ),
]

"""Right rewrites are proved, by whichever source of inputs, and the verdict says what was seen."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest
from compile_lint.linter.prove.model import Status

from .test_refuted import BOTH, BRANCH, IN_PLACE, LOOP, ONE, RAISES, ROOT, WHERE, WHILE
from .trials import trial

RIGHT = {
    "where": (BRANCH, WHERE.format("x * 2", "x - 1")),
    # Where the loop isn't entered, the backward of torch 2.13's while_loop counts a round too many.
    "while_loop": (
        LOOP,
        WHILE.format("x * 2 + 1", ".clone()")
        .replace("(x,) =", "(y,) =")
        .replace("return x", "return torch.where(x.sum() < 100, y, x)"),
    ),
    "double where": (
        ROOT,
        "def f(x):\n    t = x.min() > 0\n"
        "    y = torch.where(t, torch.where(t, x, 1.0).sqrt(), x * 0.5)\n    return y\n",
    ),
    "in place": (
        IN_PLACE,
        "def f(x):\n    x.mul_(torch.where(x.sum() > 0, 2, 1))\n    return x + 1\n",
    ),
    "assert_async": (
        RAISES,
        "def f(x):\n    torch._assert_async((x >= 0).all(), 'negative')\n    return x.sqrt()\n",
    ),
    "cond": (
        BRANCH,
        "def f(x):\n    y = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))\n"
        "    return y + 1\n",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(prover, name):
    before, after = RIGHT[name]
    inputs = "[(torch.rand(3, 4),)]" if name in ("while_loop", "assert_async") else ONE
    verdict = prover.prove(trial(before, after, examples=inputs, target="f"))
    assert verdict.status is Status.PROVED, verdict
    assert verdict.arms[0] == verdict.arms[1] > 0
    assert verdict.breaks[0] > verdict.breaks[1] == 0
    assert verdict.source == "example_inputs()"


def test_what_a_verdict_says(prover):
    verdict = prover.prove(trial(BRANCH, WHERE.format("x * 2", "x - 1"), examples=BOTH, target="f"))
    assert verdict.arms == (2, 2)
    assert verdict.gradients
    assert verdict.breaks == (1, 0)
    assert verdict.graphs[1] == 1
    assert verdict.kernels[0] == verdict.kernels[1] > 0
    assert verdict.kernels[2] > 0
    assert all(seconds > 0 for seconds in verdict.seconds)
    assert verdict.site == "f"
    assert verdict.notes == ()


def test_inputs_from_the_configuration(prover):
    made = trial(
        BRANCH, WHERE.format("x * 2", "x - 1"), inputs={"on_trial:f": "[(torch.ones(2),)]"}
    )
    verdict = prover.prove(made)
    assert (verdict.status, verdict.source) == (Status.PROVED, "configuration")


def test_inputs_from_a_record(prover, tmp_path):
    spec = {"shape": [2, 3], "dtype": "float32", "device": "cpu", "requires_grad": False}
    call = {"self": None, "args": [{"tensor": {**spec, "low": -1.0, "high": 3.0}}], "kwargs": {}}
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps({"version": 1, "calls": {"on_trial:f": [call]}}))
    made = trial(BRANCH, WHERE.format("x * 2", "x - 1"), recorded=str(file))
    verdict = prover.prove(made)
    assert (verdict.status, verdict.source) == (Status.PROVED, "recorded")


LAYERS = (
    "class Config:\n    def __init__(self, width):\n        self.width = width\n\n\n"
    "class Net(nn.Module):\n    def __init__(self, config, *, scale=1):\n"
    "        super().__init__()\n        self.lin = nn.Linear(config.width, 2)\n"
    "        self.scale = scale\n\n"
    "    def forward(self, x):\n        y = self.lin(x) * self.scale\n"
)


def test_objects_are_made_as_they_were_when_recorded(prover, tmp_path):
    """Each by itself: 3 columns fit the one, 5 the other; one config isn't there to be called."""
    calls = []
    for width in (3, 5):
        spec = {"shape": [2, width], "dtype": "float32", "low": -1.0, "high": 1.0}
        config = {"object": "on_trial:Config", "fields": [["width", {"value": width}]]}
        made = {"args": [config], "kwargs": {"scale": {"value": 2}}}
        this = {"object": "on_trial:Net", "made": made}
        for training in (False, True):
            call = {"self": this, "args": [{"tensor": spec}], "kwargs": {}, "training": training}
            calls.append(call)
    file = tmp_path / "recorded.json"
    text = json.dumps({"version": 1, "calls": {"on_trial:Net.forward": calls}}, sort_keys=True)
    file.write_text(text)
    before = LAYERS + "        if y.sum() > 0:\n            y = y * 2\n        return y\n"
    after = LAYERS + "        y = torch.where(y.sum() > 0, y * 2, y)\n        return y\n"
    verdict = prover.prove(trial(before, after, "Net.forward", recorded=str(file)))
    assert (verdict.status, verdict.source) == (Status.PROVED, "recorded"), verdict
    assert verdict.gradients


def test_inputs_on_which_the_original_raises_give_way_to_others(prover, tmp_path):
    call = {"self": None, "args": [{"value": "text"}], "kwargs": {}}
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps({"version": 1, "calls": {"on_trial:f": [call]}}))
    made = trial(BRANCH, WHERE.format("x * 2", "x - 1"), recorded=str(file))
    verdict = prover.prove(made)
    assert (verdict.status, verdict.source) == (Status.PROVED, "search")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_dtype_that_the_code_asks_for_is_tried(prover, dtype):
    head = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = nn.Linear(3, 3)\n\n    def forward(self, x):\n        y = self.lin(x)\n"
    )
    test = f"y.dtype == torch.{dtype} and not torch.isfinite(y).all()"
    before = head + f"        if {test}:\n            y = torch.clamp(y, -9, 9)\n        return y\n"
    after = head + (
        f"        if y.dtype == torch.{dtype}:\n"
        "            y = torch.where(~torch.isfinite(y).all(), torch.clamp(y, -9, 9), y)\n"
        "        return y\n"
    )
    made = trial(before, after, "Net.forward", examples="[(torch.randn(2, 3),)]", target="Net")
    verdict = prover.prove(made)
    assert (verdict.status, verdict.arms) == (Status.PROVED, (4, 4)), verdict
    wrong = trial(
        before,
        after.replace("-9", "-8"),
        "Net.forward",
        examples="[(torch.randn(2, 3),)]",
        target="Net",
    )
    assert prover.prove(wrong).status is Status.REFUTED


def test_inputs_that_are_searched(prover):
    verdict = prover.prove(trial(BRANCH, WHERE.format("x * 2", "x - 1")))
    assert (verdict.status, verdict.source) == (Status.PROVED, "search")


def test_shapes_that_fit_each_other_are_found(prover):
    head = "def f(x, w, b):\n    y = x @ w + b\n"
    before = head + "    if y.sum() > 0:\n        y = y * 2\n    return y\n"
    after = head + "    y = torch.where(y.sum() > 0, y * 2, y)\n    return y\n"
    assert prover.prove(trial(before, after)).status is Status.PROVED


def test_a_module_without_inputs(prover):
    head = (
        "class Net(nn.Module):\n    def __init__(self, width, bias=True):\n"
        "        super().__init__()\n        self.lin = nn.Linear(width, 2, bias)\n"
        "        self.w = nn.Parameter(torch.empty(2))\n\n"
        "    def forward(self, x):\n        y = self.lin(x) * self.w\n"
    )
    before = head + "        if y.sum() > 0:\n            y = y * 2\n        return y\n"
    after = head + "        y = torch.where(y.sum() > 0, y * 2, y)\n        return y\n"
    verdict = prover.prove(trial(before, after, "Net.forward"))
    assert (verdict.status, verdict.source) == (Status.PROVED, "search")
    assert verdict.gradients


def test_an_arm_that_nothing_reaches(prover):
    before = BRANCH.replace("x.sum() > 0", "x.square().sum() < 0")
    after = WHERE.replace("x.sum() > 0", "x.square().sum() < 0").format("x * 2", "x - 1")
    verdict = prover.prove(trial(before, after, examples=ONE, target="f"))
    assert verdict.status is Status.UNPROVED
    assert verdict.reason.startswith("the branch at line 6 was never taken (")
    assert verdict.arms == (1, 2)


def test_other_breaks_may_remain(prover):
    before = BRANCH.replace("return", "print('x')\n    return")
    after = WHERE.format("x * 2", "x - 1").replace("return", "print('x')\n    return")
    verdict = prover.prove(trial(before, after, examples=BOTH, target="f"))
    assert verdict.status is Status.PROVED
    assert verdict.breaks[0] > verdict.breaks[1] == 1
    assert "other graph breaks remain" in verdict.notes[0]


def test_relative_imports_of_a_package(prover, tmp_path):
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("from .on_trial import f\n")
    (package / "twice.py").write_text("def twice(x):\n    return x * 2\n")
    before = "from .twice import twice\n\n\n" + BRANCH.replace("x * 2", "twice(x)")
    after = "from .twice import twice\n\n\n" + WHERE.format("twice(x)", "x - 1")
    (package / "on_trial.py").write_text("import torch\n\n\ndef f(x):\n    return x\n")
    made = trial(
        before, after, folder=tmp_path, name="some_package.on_trial", examples=BOTH, target="f"
    )
    verdict = prover.prove(made)
    assert verdict.status is Status.PROVED, verdict


def test_without_inputs_the_reason_says_so(prover):
    head = "def f(x, *, service):\n    x = service.get(x)\n"
    before = BRANCH.replace("def f(x):\n", head)
    after = WHERE.replace("def f(x):\n", head).format("x * 2", "x - 1")
    verdict = prover.prove(trial(before, after))
    assert verdict.status is Status.UNPROVED
    assert "no arguments were found on which `f` runs" in verdict.reason


def test_a_clock_is_no_difference(prover):
    head = "import time\n\nSEEN = [0.0]\n\n\n"
    before = head + BRANCH.replace("    return", "    SEEN[0] = time.time()\n    return")
    after = head + WHERE.replace("    return", "    SEEN[0] = time.time()\n    return")
    verdict = prover.prove(trial(before, after.format("x * 2", "x - 1"), examples=BOTH, target="f"))
    assert verdict.status is Status.PROVED, verdict


def test_training_and_inference_are_arms(prover):
    head = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = nn.Linear(4, 2)\n\n    def forward(self, x):\n        y = self.lin(x)\n"
    )
    before = head + (
        "        if self.training and y.sum() > 0:\n            y = y * 2\n        return y\n"
    )
    after = head + (
        "        if self.training:\n            y = torch.where(y.sum() > 0, y * 2, y)\n"
        "        return y\n"
    )
    made = trial(before, after, "Net.forward", examples=BOTH, target="Net")
    verdict = prover.prove(made)
    assert verdict.status is Status.PROVED, verdict
    assert verdict.arms == (4, 4)


def test_an_original_that_is_refused_by_itself(prover):
    """torch.cond compiles its arms even in eager code: its plain meaning is compared with."""
    cond = "torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: {}, (x,))"
    before = "def f(x):\n    return " + cond.format("x.double()") + "\n"
    after = before.replace("x.double()", "x.clone()")
    verdict = prover.prove(trial(before, after, examples=ONE, target="f"))
    assert verdict.status is Status.MENDED, verdict
    assert "plain-Python" in verdict.reason
    after = before.replace("x.double()", "x * 3 - 2")
    verdict = prover.prove(trial(before, after, examples=ONE, target="f"))
    assert verdict.status is Status.REFUTED


def test_statistics_are_state(prover):
    """Batch normalisation writes its buffers behind autograd's back."""
    head = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.norm, self.drop = nn.BatchNorm1d(4), nn.Dropout()\n\n"
        "    def forward(self, x):\n        x = self.drop(self.norm(x))\n"
    )
    before = head + "        if x.sum() > 0:\n            x = x * 2\n        return x\n"
    after = head + "        return torch.where(x.sum() > 0, x * 2, x)\n"
    verdict = prover.prove(trial(before, after, "Net.forward", examples=BOTH, target="Net"))
    assert verdict.status is Status.PROVED, verdict
    wrong = after.replace("self.norm(x)", "nn.functional.batch_norm(x, None, None, training=True)")
    verdict = prover.prove(trial(before, wrong, "Net.forward", examples=BOTH, target="Net"))
    assert "the state after the call.norm.running_mean differs" in verdict.reason


def test_changed_code_must_run(prover):
    before = "def f(x):\n    n = x.sum().item()\n    return x * n\n\n\ndef g(x):\n    return x\n"
    after = before.replace(".item()", ".detach()")
    made = trial(before, after, examples=ONE, target="g")
    verdict = prover.prove(made)
    assert (verdict.status, verdict.source) == (Status.PROVED, "example_inputs() and search")
    verdict = prover.prove(dataclasses.replace(made, sites=()))
    assert verdict.status is Status.UNPROVED
    assert verdict.reason.startswith("line 5 never ran")


def test_without_torch_in_the_parent():
    code = (
        "import sys, compile_lint.linter.prove.prover, compile_lint.linter.prove.model\n"
        "assert not {'torch', 'numpy', 'compile_lint.compiler'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_state_that_is_no_number_drives_arms(prover):
    """A flag in a buffer is what most first calls find unset: it is set to reach the other arm."""
    before = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('ready', torch.tensor(False))\n\n"
        "    def forward(self, x):\n        if self.ready:\n            x = x * 2\n"
        "        self.ready = torch.ones_like(self.ready)\n        return x\n"
    )
    after = before.replace(
        "        if self.ready:\n            x = x * 2\n",
        "        x = torch.where(self.ready, x * 2, x)\n",
    )
    verdict = prover.prove(trial(before, after, "Net.forward", examples=ONE, target="Net"))
    assert verdict.status is Status.PROVED, verdict
    assert verdict.arms == (2, 2)


def test_loops_that_never_end_are_no_inputs(prover):
    """A search that makes a loop endless goes on with other inputs."""
    before = "def f(x):\n    while x.sum() < 10:\n        x = x + x.abs().mean()\n    return x\n"
    after = (
        "def f(x):\n    (y,) = torch.while_loop(lambda x: x.sum() < 10,\n"
        "        lambda x: (x + x.abs().mean(),), (x,))\n"
        "    return torch.where(x.sum() < 10, y, x)\n"
    )
    inputs = "[(torch.ones(3),), (torch.zeros(3),)]"
    verdict = prover.prove(trial(before, after, examples=inputs, target="f"))
    assert verdict.status is Status.PROVED, verdict

"""Keys of graphs: equal across processes, different after every single change.

Run as a script, this file prints the keys of its programs: the test's second process.
"""

import dataclasses
import json
import subprocess
import sys

import pytest
import torch
from compile_lint.compiler.runtime import keys, versions
from compile_lint.compiler.runtime.keys import canonical_symbols, graph_key, graph_text
from compile_lint.compiler.settings import Settings
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel
from functorch.compile import make_boxed_func
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.backends.common import aot_autograd

# Source with the arguments' names open, since ShapeEnv names symbols after them.
PROGRAMS = {
    "pointwise": "def f({a}, {b}):\n    return ({a} @ {b}).sin() * {a}.shape[0] + {b}.sum()",
    "cond": (
        "def f({a}, {b}):\n"
        "    def yes({a}): return ({a} @ {b}).sin()\n"
        "    def no({a}): return ({a} @ {b}).cos()\n"
        "    return torch.cond({a}.sum() > 0, yes, no, ({a},)) * {b}.shape[1]"
    ),
    "unbacked": "def f({a}, {b}):\n    return {a}.nonzero() + 1, ({b} > 0).sum().item() + {a}",
    "constant": "def f({a}, {b}):\n    return {a} + torch.tensor([1.0, 2.0, 3.0]), {b}.view(-1)",
    "pieces": (
        "def f({a}, {b}):\n"
        "    n = {a}.shape[0] * 2 + {b}.shape[1]\n"
        "    both = torch.cat([{a}, {a}.flip(0)])\n"
        "    return both.new_zeros(n, 3), both.split({a}.shape[0]), {b}.clamp(0.25, None)"
    ),
}


class Captured:
    """One graph at the moment when a compiler gets it."""

    def __init__(self, gm, inputs, stage):
        self.gm, self.inputs, self.stage = gm, inputs, stage
        self.key = self.key_with()
        self.symbols = canonical_symbols(gm, inputs)
        self.text = graph_text(gm, inputs, Settings(), stage)

    def key_with(self, **changes):
        return graph_key(self.gm, self.inputs, Settings(**changes), self.stage)


def capture(fn, *args, dynamic=False):
    """Every graph of `fn(*args)` and of its gradient, with its key."""
    found = []

    def compiler(stage):
        def compile_stage(gm, inputs):
            found.append(Captured(gm, inputs, stage))
            return make_boxed_func(gm)

        return compile_stage

    torch._dynamo.reset()
    backend = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
    )
    result = torch.compile(fn, backend=backend, fullgraph=True, dynamic=dynamic)(*args)
    if isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()
    return found


def program_keys(a, b):
    """What each program's graphs are called, with the arguments called `a` and `b`."""
    result = {}
    for name, source in PROGRAMS.items():
        space = {"torch": torch}
        exec(source.format(a=a, b=b), space)
        weight = torch.ones(3, 3, requires_grad=name == "cond")
        # Dynamo sorts the sizes that an arm closes over by name: renamed, it's another graph
        dynamic = name != "cond"
        for graph in capture(space["f"], torch.ones(5, 3), weight, dynamic=dynamic):
            result[f"{name} {graph.stage}"] = {
                "key": graph.key,
                "text": graph.text,
                "symbols": sorted(map(str, graph.symbols)),
                "names": sorted(graph.symbols.values()),
            }
    return result


def test_two_processes_agree_on_every_key_whatever_symbols_are_called(monkeypatch):
    monkeypatch.setattr(keys, "own_digest", lambda: "sources")  # they may be edited meanwhile
    ran = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    theirs = json.loads(ran.stdout)
    ours = program_keys("x", "y")
    assert ours.keys() == theirs.keys()
    for name, graph in ours.items():
        assert graph["key"] is not None
        assert graph["text"] == theirs[name]["text"], name
        assert graph["key"] == theirs[name]["key"]
        assert graph["names"] == theirs[name]["names"]
        renamed = graph["symbols"] != theirs[name]["symbols"]
        assert renamed or "cond" in name, "the test renames nothing"
    assert len({graph["key"] for graph in ours.values()}) == len(ours) == 6


def one(fn, *args, dynamic=False):
    graphs = capture(fn, *args, dynamic=dynamic)
    assert len(graphs) == 1
    return graphs[0].key


def base(x, y):
    return torch.add(x, y, alpha=2).amax(dim=[0], keepdim=True).to(torch.float64)


GRAPH_CHANGES = {
    "operator": lambda x, y: torch.sub(x, y, alpha=2).amax(dim=[0], keepdim=True).double(),
    "keyword": lambda x, y: torch.add(x, y, alpha=3).amax(dim=[0], keepdim=True).double(),
    "type of a number": lambda x, y: (
        torch.add(x, y, alpha=2.0).amax(dim=[0], keepdim=True).double()
    ),
    "nested argument": lambda x, y: torch.add(x, y, alpha=2).amax(dim=[1], keepdim=True).double(),
    "longer list": lambda x, y: torch.add(x, y, alpha=2).amax(dim=[0, 1], keepdim=True).double(),
    "flag": lambda x, y: torch.add(x, y, alpha=2).amax(dim=[0], keepdim=False).double(),
    "dtype": lambda x, y: torch.add(x, y, alpha=2).amax(dim=[0], keepdim=True).half(),
    "outputs": lambda x, y: (base(x, y), x + 1),
    "operand": lambda x, y: torch.add(x, x, alpha=2).amax(dim=[0], keepdim=True).double() + y,
}


@pytest.mark.parametrize("name", GRAPH_CHANGES)
def test_each_change_of_the_graph_changes_the_key(name):
    args = torch.ones(4, 4), torch.ones(4, 4)
    assert one(base, *args) == one(lambda x, y: base(x, y), *args)
    assert one(base, *args) != one(GRAPH_CHANGES[name], *args)


def test_which_operand_comes_first_changes_the_key():
    def difference(x, y):
        a, b = x.sin(), y.sin()
        return a - b

    def other_way_round(x, y):
        a, b = x.sin(), y.sin()
        return b - a

    args = torch.ones(4), torch.ones(4)
    assert one(difference, *args) != one(other_way_round, *args)


INPUT_CHANGES = {
    "shape": torch.ones(4, 1),
    "stride": torch.ones(4, 4).t(),
    "dtype": torch.ones(4, 4, dtype=torch.bfloat16),
    "offset": torch.ones(5, 4)[1:],
    "device": torch.ones(4, 4, device="meta"),
}


@pytest.mark.parametrize("name", INPUT_CHANGES)
def test_each_change_of_an_input_changes_the_key(name):
    def f(x):
        return x.exp()

    assert one(f, torch.ones(4, 4)) != one(f, INPUT_CHANGES[name])


def test_gradients_and_stages_change_the_key():
    plain = one(torch.exp, torch.ones(4))
    forward, backward = capture(torch.exp, torch.ones(4, requires_grad=True))
    assert len({plain, forward.key, backward.key}) == 3
    gm, inputs = forward.gm, forward.inputs
    assert graph_key(gm, inputs, Settings(), "inference") != forward.key
    trained = [torch.ones(4, requires_grad=train) for train in (False, True)]
    assert len({graph_key(gm, [x], Settings(), "forward") for x in trained}) == 2


def test_constants_count_by_their_bytes():
    def with_constant(values, **options):
        return one(lambda x: x + torch.tensor(values, **options), torch.ones(2))

    first = with_constant([1.0, 2.0])
    assert first == with_constant([1.0, 2.0])
    assert first != with_constant([1.0, 3.0])
    assert first != with_constant([1.0, 2.0], dtype=torch.float64)
    assert with_constant([float("nan"), 0.0]) != with_constant([float("nan"), -0.0])


def test_an_arm_of_cond_counts():
    def with_arm(arm):
        return one(lambda x: torch.cond(x.sum() > 0, arm, torch.cos, (x,)), torch.ones(3))

    assert with_arm(torch.sin) == with_arm(lambda x: torch.sin(x)) != with_arm(torch.tan)


@pytest.mark.parametrize(
    "changes",
    [{"mode": "max-autotune"}, {"target": "cuda:90"}, {"interpret": True}, {"verify": True}],
)
def test_each_setting_that_matters_changes_the_key(changes):
    (graph,) = capture(base, torch.ones(4, 4), torch.ones(4, 4))
    assert graph.key_with(**changes) != graph.key
    assert graph.key_with(cache=False, collect=False) == graph.key


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("own_version", lambda: "9"),
        ("own_digest", lambda: "9"),
        ("triton_version", lambda: "9"),
        ("device_target", lambda device: "cuda:10"),
    ],
)
def test_versions_and_devices_change_the_key(monkeypatch, name, value):
    (graph,) = capture(base, torch.ones(4, 4), torch.ones(4, 4))
    monkeypatch.setattr(keys, name, value)
    assert graph.key_with() != graph.key


def test_torch_and_its_numeric_settings_change_the_key(monkeypatch):
    (graph,) = capture(base, torch.ones(4, 4), torch.ones(4, 4))
    seen = {graph.key}
    for owner, name, value in [
        (torch, "__version__", "2.99.0+cu1"),
        (torch.version, "cuda", "99.0"),
        (torch, "get_float32_matmul_precision", lambda: "medium"),
        (torch, "are_deterministic_algorithms_enabled", lambda: True),
        (sys, "version_info", (3, 99, 0)),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            seen.add(graph.key_with())
    assert len(seen) == 6


def test_dynamic_shapes_share_a_key_within_a_power_of_two():
    def f(x):
        return x.sin().sum(0)

    def with_size(n):
        return one(f, torch.ones(n, 3), dynamic=True)

    assert with_size(33) == with_size(60) != with_size(700)
    assert with_size(33) != one(f, torch.ones(33, 3))


def test_what_a_guard_tells_changes_the_key():
    def f(x):
        return x.sin()

    def even(x):
        return x.sin() if x.shape[0] % 2 == 0 else x.cos()

    args = (torch.ones(34, 3),)
    assert one(f, *args, dynamic=True) != one(even, *args, dynamic=True)


def test_canonical_names_follow_the_order_of_appearance():
    def f(x, y):
        return x.nonzero(), x + y.sum()

    (graph,) = capture(f, torch.ones(5, 7), torch.ones(9, 2), dynamic=True)
    assert list(graph.symbols.values())[:4] == ["s0", "s1", "s2", "s3"]
    assert "u0" in graph.symbols.values()
    assert len(set(graph.symbols.values())) == len(graph.symbols)
    text = graph_text(graph.gm, graph.inputs, Settings(), graph.stage)
    assert "torch.float32[s0,s1](s1,1)+0 cpu" in text


class Opaque:
    pass


def my_function(x):
    return x


@pytest.mark.parametrize(
    ("target", "args"),
    [
        (torch.ops.aten.sin.default, (Opaque(),)),
        (torch.ops.aten.sin.default, ([{"deep": (Opaque(),)}],)),
        (my_function, ()),
        (Opaque, ()),
        (torch.ops.higher_order.triton_kernel_wrapper_functional, ()),
    ],
)
def test_what_has_no_canonical_text_is_not_keyed(target, args):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(target, (x,)))
    gm = torch.fx.GraphModule({}, graph)
    node = next(node for node in gm.graph.nodes if node.op == "call_function")
    try:
        node.args = (x, *args)
    except (TypeError, RuntimeError):
        pytest.skip("fx refuses this argument")
    assert graph_key(gm, [torch.ones(2)], Settings(), "inference") is None


def kernel(**changes):
    values = {
        "name": "k",
        "source": "import triton\n",
        "arguments": (Argument("x", "*fp32"),),
        "configs": (Config((("XBLOCK", 64),)),),
        "grid": ("cdiv(xnumel, XBLOCK)",),
        **changes,
    }
    return Kernel(**values)


def test_kernel_keys_take_in_what_triton_sees(monkeypatch):
    k = kernel()
    config = k.configs[0]
    first = keys.kernel_key(k, config, "cuda:90")
    assert first == keys.kernel_key(kernel(origins=("a.py:1",)), config, "cuda:90")
    others = {
        keys.kernel_key(k, config, "cuda:80"),
        keys.kernel_key(k, dataclasses.replace(config, num_warps=8), "cuda:90"),
        keys.kernel_key(kernel(source="import triton \n"), config, "cuda:90"),
        keys.kernel_key(kernel(arguments=(Argument("x", "*fp32", True),)), config, "cuda:90"),
    }
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    assert keys.kernel_key(k, config, "cuda:90") == first
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    others.add(keys.kernel_key(k, config, "cuda:90"))
    assert len(others | {first}) == 6


def test_autotune_keys_take_in_sizes_configurations_and_the_card():
    cpu = torch.device("cpu")
    more = kernel(configs=(Config((("XBLOCK", 64),)), Config((("XBLOCK", 128),))))
    found = {
        keys.autotune_key(kernel(), cpu, [1]),
        keys.autotune_key(kernel(), cpu, [2]),
        keys.autotune_key(more, cpu, [1]),
        keys.autotune_key(kernel(grid=("1",)), cpu, [1]),
    }
    assert len(found) == 4


def test_versions_are_found():
    assert len(versions.own_digest()) == 64
    assert versions.torch_release() == str(torch.__version__).split("+")[0]
    assert versions.device_target(torch.device("cpu")) == "cpu"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=5,
)


def with_argument(value):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.ops.aten.sin.default, (x, value)))
    return graph_key(torch.fx.GraphModule({}, graph), [torch.ones(2)], Settings(), "inference")


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_arguments_have_equal_keys_exactly_if_they_read_alike(left, right):
    assert with_argument(left) is not None
    assert (with_argument(left) == with_argument(right)) == (repr(left) == repr(right))


if __name__ == "__main__":
    keys.own_digest = lambda: "sources"
    capture(lambda first, second: first[:2] * second, torch.ones(8), torch.ones(2), dynamic=True)
    print(json.dumps(program_keys("left_operand", "the_weights")))

"""What a finding's certainty and modes rest on; each claim was measured with Dynamo."""

from __future__ import annotations

from pathlib import Path

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.linter.source import load_source, read_source
from compile_lint.rules.base import Certainty, Finding, Mode

OPTIONS = AnalysisOptions(entry="all", target_torch="2.13")


def lint(text: str, code: str) -> list[Finding]:
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    return [finding for finding in Linter(OPTIONS).lint(file).findings if finding.code == code]


def lines(findings: list[Finding]) -> list[int]:
    return [finding.span.line for finding in findings]


HEAD = "import numpy as np\nimport torch\n\n"


def test_a_condition_on_a_numpy_scalar_breaks_but_int_reads_it() -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    k = np.ceil(7 / 2)\n    return x * int(k)"
    assert not lint(text, "CL402")
    assert lines(lint(text + " if k > 2 else x\n", "CL103")) == [6]


def test_numpy_of_a_size_that_was_read_is_no_tensor() -> None:
    body = "    y = x[x > 0]\n    return y * int(2 ** np.ceil(np.log2(len(y))))\n"
    assert not lint(HEAD + "def f(x: torch.Tensor):\n" + body, "CL402")


def test_torch_functions_of_sizes_give_known_numbers() -> None:
    body = "    n = torch.div(len(x[x > 0]), 2, rounding_mode='floor')\n"
    body += "    return x.new_zeros((n, 2))\n"
    assert not lint(HEAD + "def f(x: torch.Tensor):\n" + body, "CL415")


def test_behind_a_break_a_tensor_as_a_size_is_an_input() -> None:
    text = HEAD + "def f(x: torch.Tensor, lengths: torch.Tensor):\n    n = lengths.max()\n"
    first = text + "    a = torch.arange(n)\n"
    assert lines(lint(first + "    return a\n", "CL415")) == [6]
    again = lint(first + "    return a + torch.zeros(n)\n", "CL415")
    assert lines(again) == [6]


def test_a_numpy_scalar_bounds_no_slice_in_the_graph_that_makes_it() -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    n = np.clip(7, 0, 5)\n"
    (finding,) = lint(text + "    return x[:n]\n", "CL414")
    assert set(finding.breaks) == set(Mode)
    (behind,) = lint(text + "    print()\n    return x[:n]\n", "CL414")
    assert behind.breaks == (Mode.FULLGRAPH,)


def test_a_break_that_may_not_run_only_makes_it_likely() -> None:
    text = HEAD + "def f(x: torch.Tensor, lengths: torch.Tensor, flag: bool):\n"
    text += "    n = lengths.max()\n    if flag:\n        print(n)\n    return torch.arange(n)\n"
    (finding,) = lint(text, "CL415")
    assert finding.certainty is Certainty.LIKELY
    assert Mode.DEFAULT in finding.breaks


def test_what_stands_behind_a_test_for_none_is_likely() -> None:
    text = HEAD + "def f(x: torch.Tensor, mask: torch.Tensor | None = None):\n"
    text += (
        "    if mask is not None and mask.sum().item() > 3:\n        return x\n    return x + 1\n"
    )
    (finding,) = lint(text, "CL401")
    assert finding.certainty is Certainty.LIKELY


def test_certain_in_one_mode_is_not_certain_in_the_other() -> None:
    text = HEAD + "def g(v):\n    return 1 if v else 2\n\n"
    text += "def f(x: torch.Tensor):\n    return x * g(x.sum().item())\n\n"
    text += "def h(x, flag):\n    return x.relu() * g(x.clamp(0).sum())\n"
    (finding,) = lint(text, "CL103")
    assert set(finding.breaks) == set(Mode)
    assert finding.certainty is Certainty.LIKELY


def test_code_of_arrays_is_captured_as_well() -> None:
    text = '''
import numpy as np

def f(y0, tolerance):
    """Check.

    Parameters
    ----------
    y0 : ndarray, shape (n,)
        State.
    """
    if np.linalg.norm(y0) < tolerance:
        return y0
    atol = np.asarray(tolerance)
    if np.any(atol < 0):
        raise ValueError("negative")
    return y0 / atol
'''
    assert lines(lint(text, "CL101")) == [12]
    assert lines(lint(text, "CL110")) == [15]


def test_scipy_resolves_its_own_modules(tmp_path: Path) -> None:
    package = tmp_path / "scipy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "common.py").write_text("def norm(x):\n    return x.sum()\n")
    main = "import numpy as np\nfrom .common import norm\n\ndef f(x):\n    return norm(np.abs(x))\n"
    (package / "main.py").write_text(main)
    file = load_source(str(package / "main.py"), main.encode())[0]
    assert not [f for f in Linter(OPTIONS).lint(file).findings if f.code == "CL310"]


def test_an_override_is_told_what_the_inherited_method_passes() -> None:
    text = HEAD + "class Solver:\n    def run(self, t: torch.Tensor):\n"
    text += "        for now in t:\n            self.step(now)\n\n    def step(self, now):\n"
    text += "        raise NotImplementedError\n\n"
    text += "class Euler(Solver):\n    def step(self, now):\n        return 1 if now > 0 else 2\n"
    assert lines(lint(text, "CL103")) == [14]


def test_the_constructor_of_an_object_is_captured_that_of_a_module_is_not() -> None:
    made = "class {}:\n    def __init__(self, x: torch.Tensor):\n        self.x = x\n"
    made += "        if x.sum() > 0:\n            print()\n\n"
    assert lines(lint(HEAD + made.format("Box"), "CL101")) == [7]
    module = HEAD + made.format("Net(torch.nn.Module)")
    assert not lint(module, "CL101")
    inside = module + "def f(x: torch.Tensor):\n    return Net(x * 2).x\n"
    assert lines(lint(inside, "CL101")) == [7]


def test_numpy_of_unknown_values() -> None:
    text = HEAD + "def f(x: torch.Tensor, config):\n    size = int(np.prod(config.shape))\n"
    text += "    if np.lcm(config.a, config.b) > 2:\n        x = x + 1\n"
    text += "    return x.view(size, int(np.sqrt(config.a)))\n"
    assert lines(lint(text, "CL402")) == [5]
    assert lines(lint(text, "CL101")) == [6]


def test_an_array_as_a_size_of_an_array() -> None:
    text = HEAD + "def f(plan):\n    k = np.array(plan) // 2\n"
    assert lines(lint(text + "    return np.zeros((3, k[0])), np.arange(k[1])\n", "CL415")) == [
        6,
        6,
    ]


def test_objects_of_c_packages_are_known_by_their_annotation() -> None:
    text = HEAD + "import pywt\n\ndef f(x: torch.Tensor, wavelet: str | pywt.Wavelet):\n"
    assert lines(lint(text + "    return x * len(wavelet.wavefun(3))\n", "CL310")) == [7]


def test_an_import_may_turn_validation_of_distributions_on(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(
        "from torch.distributions import Distribution\n"
        "Distribution.set_default_validate_args(__debug__)\n"
    )
    (tmp_path / "base.py").write_text("import settings\n")
    path = tmp_path / "model.py"
    body = "def f(x: torch.Tensor):\n    a = Normal(x, 1.0)\n"
    body += "    b = Normal(x, 1.0, validate_args=False)\n"
    path.write_text(
        f"import base, torch\nfrom torch.distributions import Normal\n{body}    return a, b\n"
    )
    (finding,) = Linter(OPTIONS).lint(read_source(str(path))).findings
    assert (finding.code, finding.span.line) == ("CL320", 4)
    assert finding.certainty is Certainty.LIKELY
    (tmp_path / "base.py").write_text("")
    assert not Linter(OPTIONS).lint(read_source(str(path))).findings


def test_numpy_scalars_made_integers_are_read() -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    k = np.ceil(7 / 2)\n    return x * k.item()"
    assert not lint(text, "CL401")
    assert lines(lint(text.replace("k.item", 'k.astype("int").item'), "CL401")) == [6]


def test_a_function_that_a_parameter_names_is_only_likely() -> None:
    text = HEAD + "def g(make, x: torch.Tensor):\n    return make(x) + x\n\n"
    text += "def f(x: torch.Tensor):\n    return g(np.isscalar, x)\n"
    (finding,) = lint(text, "CL307")
    assert finding.span.line == 5
    assert finding.certainty is Certainty.LIKELY


def test_setters_and_post_init_run() -> None:
    text = HEAD + "from dataclasses import dataclass\n\n"
    text += "@dataclass\nclass Box:\n    held: torch.Tensor\n\n"
    text += "    def __post_init__(self):\n        if self.held.sum() > 0:\n"
    text += "            self.held = self.held * 2\n\n"
    text += "    @property\n    def value(self):\n        return self.held\n\n"
    text += "    @value.setter\n    def value(self, value):\n        if value.sum() > 0:\n"
    text += "            self.held = value\n\n"
    text += (
        "def f(x: torch.Tensor):\n    box = Box(x)\n    box.value = x * 2\n    return box.value\n"
    )
    assert lines(lint(text, "CL101")) == [11, 20]


def test_numpy_makes_tensors_of_lists_whose_elements_it_counts() -> None:
    body = "    kept = np.unique([1, 2, 2])\n    return x[np.where(known['a'])[0]] + len(kept)\n"
    text = HEAD + "def f(x: torch.Tensor, known):\n" + body
    assert lines(lint(text, "CL411")) == [5]
    assert lines(lint(text, "CL407")) == [6]
    assert not lint(text.replace("['a']", "['a'], 1, 0"), "CL407")


def test_elements_of_counted_indices_are_read_where_they_index() -> None:
    body = "    for i in np.where(known)[0]:\n        x[i].mul_(2)\n    return x\n"
    assert lines(lint(HEAD + "def f(x: torch.Tensor, known):\n" + body, "CL425")) == [6]


def test_a_sum_of_an_array_is_a_size_of_what_is_drawn() -> None:
    body = (
        "    few = np.random.rand(4) < 0.5\n    return x + torch.randint(0, 2, size=(few.sum(),))\n"
    )
    assert lines(lint(HEAD + "def f(x: torch.Tensor):\n" + body, "CL415")) == [6]


def test_lists_can_not_be_shuffled_by_numpy_but_arrays_can() -> None:
    text = (
        HEAD
        + "def f(x: torch.Tensor):\n    a = [1, 2]\n    np.random.shuffle(a)\n    return x[a]\n"
    )
    assert lines(lint(text, "CL306")) == [6]
    assert not lint(text.replace("[1, 2]", "np.arange(2)"), "CL306")


def test_memory_of_a_captured_tensor_can_be_given_away() -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    y = x * 2\n    y.set_()\n    return x\n"
    assert not lint(text, "CL422")
    assert lines(lint(text.replace("y.set_()", "x.set_()"), "CL422")) == [6]
    assert lines(lint(text.replace("y.set_()", "y.set_(x)"), "CL422")) == [6]


def test_the_type_of_a_tensor_is_a_string() -> None:
    text = HEAD + "def f(x: torch.Tensor):\n    return x.float() if 'Half' in x.type() else x\n"
    assert not lint(text, "CL112")
    assert not lint(text.replace("'Half' in x.type()", "x.type() == 'torch.FloatTensor'"), "CL103")


def test_out_of_what_loops_assign_later_is_empty_at_first() -> None:
    body = "    y = x.new()\n    for i in range(2):\n"
    body += "        torch.add(x, i, out=y)\n        y = y * 2\n"
    text = HEAD + "def f(x: torch.Tensor):\n" + body + "    return y\n"
    assert lines(lint(text, "CL532")) == [7]
    assert not lint(text.replace("x.new()", "torch.empty_like(x)"), "CL532")
    assert not lint(text.replace("x.new()", "x[1:]"), "CL532")


def test_a_documented_array_may_be_copied() -> None:
    head = 'def f(y):\n    """Scale.\n\n    Args:\n        y (ndarray): an image.\n    """\n'
    body = "    x = y.copy()\n    return x if x.dtype != 'float64' else x * 2\n"
    assert lines(lint(HEAD + head + body, "CL307")) == [11]
    assert not lint(HEAD + head + body.replace("x = y.copy()", "x = y.crop()"), "CL307")


def test_code_shared_by_a_number_and_a_tensor_is_not_certain() -> None:
    kinds = "isinstance(i, int) or (isinstance(i, torch.Tensor) and i.dim() == 0)"
    body = "    if KINDS:\n        if i < 0:\n            i = i + n\n    return i\n"
    text = HEAD + "def f(i: torch.Tensor, n: int):\n" + body
    (found,) = lint(text.replace("KINDS", kinds), "CL101")
    assert found.certainty is Certainty.LIKELY
    (found,) = lint(text.replace("KINDS", "n > 2 or n < -2"), "CL101")
    assert found.certainty is Certainty.CERTAIN


def test_a_parameter_documented_as_a_mask_takes_what_is_true() -> None:
    head = "def f(x: torch.Tensor, keep: torch.Tensor):\n"
    for story in (
        "Args:\n        keep (torch.Tensor, bool): whom",
        "Args:\n        keep (BoolTensor): whom",
        "keep: a boolean mask over rows",
        "keep should be a boolean tensor of shape [B]",
        ":param keep: 1D boolean tensor",
    ):
        (found,) = lint(
            HEAD + head + f'    """Some.\n\n    {story}\n    """\n    return x[keep]\n', "CL408"
        )
        assert found.certainty is Certainty.LIKELY, story
    for story in ("keep: rows, not a boolean mask", "keep (Tensor or bool): rows", "boolean mask"):
        assert not lint(HEAD + head + f'    """{story}."""\n    return x[keep]\n', "CL408"), story


def test_what_a_boolean_tensor_indexes_is_likely_a_tensor() -> None:
    text = HEAD + "def f(x: torch.Tensor, distance):\n    y = distance(x)\n"
    text += "    keep = ~torch.eye(3, dtype=torch.bool)\n    return y[{}]\n"
    (finding,) = lint(text.format("keep"), "CL408")
    assert finding.certainty is Certainty.LIKELY
    assert not lint(text.format("keep.any()"), "CL408")  # one value: it may be a key
    assert not lint(text.format("keep.int()"), "CL408")


def test_a_decorator_of_an_inner_function_belongs_to_its_definition() -> None:
    text = HEAD + "def f(x: torch.Tensor, flag: bool):\n    y = x + 1\n"
    text += "    {}\n    def g(z):\n        return z\n    return y\n"
    (finding,) = lint(text.format("@torch.compiler.disable(recursive=False)"), "CL337")
    assert (finding.span.line, finding.statement.line) == (6, 7)
    assert not lint(text.format("@torch.no_grad()"), "CL337")
    assert not lint(HEAD + "@torch.jit.ignore\ndef f(x):\n    return x\n", "CL337")

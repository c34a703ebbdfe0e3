"""Constants, and external names whose value, or whose answer, is known while capturing."""

from __future__ import annotations

import ast

from ...rules.base.facts import Const, Fact, Static, const

# What Dynamo answers when traced code asks what is tracing it.
CONSTANT_CALLS: dict[str, object] = {
    "torch.jit.is_scripting": False,
    "torch.jit.is_tracing": False,
    "torch._C._get_tracing_state": None,
    "torch.compiler.is_compiling": True,
    "torch.compiler.is_dynamo_compiling": True,
    "torch.compiler.is_exporting": False,
    "torch._dynamo.is_compiling": True,
    "torch._dynamo.external_utils.is_compiling": True,
    "torch._utils.is_compiling": True,
    "torch.onnx.is_in_onnx_export": False,
    "torch.overrides.has_torch_function": False,
    "torch.overrides.has_torch_function_unary": False,
    "torch.overrides.has_torch_function_variadic": False,
    "torch.fx._symbolic_trace.is_fx_tracing": False,
}

EXTERN_VALUES: dict[str, Fact] = {
    "typing.TYPE_CHECKING": Const(False, "bool"),
    "math.pi": Static("float"),
    "math.inf": Static("float"),
    "math.e": Static("float"),
    "math.nan": Static("float"),
    "numpy.pi": Static("float"),
    "numpy.inf": Static("float"),
    "numpy.newaxis": Const(None, "NoneType"),
    "torch.pi": Static("float"),
    "torch.inf": Static("float"),
    "torch.__version__": Static("str"),
    "sys.version_info": Static("tuple"),
    "sys.platform": Static("str"),
}

# Methods that take a function of a module, and how much it gets beside: inputs, and outputs.
HOOKS = {"register_forward_hook": 2, "register_forward_pre_hook": 1, "apply": 0}


class Constants(dict[ast.Constant, Const]):
    """The facts of constants in the source: the same one each time, which compares at once."""

    def __missing__(self, node: ast.Constant) -> Const:
        made = self[node] = const(node.value)
        return made

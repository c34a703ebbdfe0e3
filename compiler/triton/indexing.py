"""Index expressions as Triton text, with the sizes that must come from the host."""

# sympy says Basic where an Expr comes.
# pyright: reportArgumentType=false, reportOperatorIssue=false, reportReturnType=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable

from sympy import Add, Expr, Mul, Pow, Symbol

from ..errors import LoweringError
from ..ir.index import Div, Rem


class IndexPrinter:
    """Prints index expressions.

    Parts without loop variables that aren't plain numbers become arguments of the kernel, computed
    by the host: `sizes` maps each to its name.

    Args:
        name_of: The text of a loop variable or of an indirect symbol; None for a size.
    """

    def __init__(self, name_of: Callable[[Symbol], str | None]) -> None:
        self._name_of = name_of
        self.sizes: dict[Expr, str] = {}

    def __call__(self, e: Expr) -> str:
        return self._print(e)

    def _host(self, e: Expr) -> str:
        if e.is_Integer:
            return str(int(e))
        name = self.sizes.get(e)
        if name is None:
            name = self.sizes[e] = f"n{len(self.sizes)}"
        return name

    def _is_host(self, e: Expr) -> bool:
        return all(self._name_of(s) is None for s in e.free_symbols)  # type: ignore[arg-type]

    def _print(self, e: Expr) -> str:
        if self._is_host(e):
            return self._host(e)
        if isinstance(e, Symbol):
            return str(self._name_of(e))
        if isinstance(e, Add):
            return "(" + " + ".join(self._grouped(e.args)) + ")"
        if isinstance(e, Mul):
            host = Mul(*(a for a in e.args if self._is_host(a)))
            parts = [self._print(a) for a in e.args if not self._is_host(a)]
            if host != 1:
                parts.insert(0, self._host(host))
            return "(" + " * ".join(parts) + ")"
        if isinstance(e, Div):
            return f"({self._print(e.args[0])} // {self._print(e.args[1])})"
        if isinstance(e, Rem):
            return f"({self._print(e.args[0])} % {self._print(e.args[1])})"
        if isinstance(e, Pow) and e.args[1].is_Integer and int(e.args[1]) > 0:
            return "(" + " * ".join([self._print(e.args[0])] * int(e.args[1])) + ")"
        raise LoweringError(f"no Triton for the index {e}")

    def _grouped(self, terms: tuple) -> list[str]:
        host = [t for t in terms if self._is_host(t)]
        # Sorted as text: sympy's own order changes from process to process.
        texts = sorted(self._print(t) for t in terms if not self._is_host(t))
        if host:
            texts.append(self._host(Add(*host)))
        return texts

"""Index arithmetic: where in memory an element lies, as a function of loop variables.

Expressions are sympy's. Loop variables are non-negative and below their loop's size; quotients and
remainders are our own unevaluated functions, simplified here against those sizes, since sympy's
own evaluation of floor and Mod is slow and knows nothing of ranges.
"""

# sympy says Basic where an Expr comes.
# pyright: reportArgumentType=false, reportOperatorIssue=false, reportReturnType=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import gcd

import sympy
from sympy import Add, Expr, Integer, Mul, Symbol

Sizes = Mapping[Symbol, Expr]


class Loop(Symbol):
    """A loop variable: a non-negative integer below its loop's size."""

    def __new__(cls, name: str) -> Loop:
        return Symbol.__xnew__(cls, name, integer=True, nonnegative=True)


class Indirect(Symbol):
    """A computed value in an index expression: x[idx[i]]."""

    def __new__(cls, name: str) -> Indirect:
        return Symbol.__xnew__(cls, name, integer=True, nonnegative=True)


class Div(sympy.Function):
    """Floor quotient of non-negative integers."""

    nargs = 2
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr | None:
        if b == 1 or a == 0:
            return a
        if b == 0:
            return Integer(0)  # of an empty dimension: no point is ever there
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) // int(b))
        return None


class Rem(sympy.Function):
    """Remainder of non-negative integers."""

    nargs = 2
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr | None:
        if b == 1 or a == 0 or b == 0:
            return Integer(0)
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) % int(b))
        return None


def expr(value: object) -> Expr:
    """A size or stride (an int, a SymInt, an expression) as an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return Integer(value)
    node = getattr(value, "node", None)
    if node is not None:
        return node.expr
    raise TypeError(f"not a size: {value!r}")


def exprs(values: Iterable[object]) -> tuple[Expr, ...]:
    return tuple(expr(value) for value in values)


def product(sizes: Iterable[Expr]) -> Expr:
    return Mul(*sizes)


def flat(index: Sequence[Expr], stride: Sequence[Expr], offset: Expr = Integer(0)) -> Expr:  # noqa: B008
    """The position in memory of an element."""
    return Add(offset, *(Mul(i, s) for i, s in zip(index, stride)))


def contiguous_stride(size: Sequence[Expr]) -> tuple[Expr, ...]:
    stride: list[Expr] = []
    step: Expr = Integer(1)
    for length in reversed(size):
        stride.append(step)
        # As torch does: a dimension of size 0 doesn't annul the strides before it.
        step = step * (Integer(1) if length == 0 else length)
    return tuple(reversed(stride))


def is_static(sizes: Iterable[Expr]) -> bool:
    return all(size.is_Integer for size in sizes)


def symbols(e: Expr) -> set[Symbol]:
    return e.free_symbols  # type: ignore[return-value]


@lru_cache(maxsize=100_000)
def _nonnegative(e: Expr) -> bool:
    """Whether an expression over sizes (all ≥ 0) is provably ≥ 0."""
    if e.is_Integer:
        return int(e) >= 0
    # A size that torch specialises on neither 0 nor 1 is at least 2 (one is enough here); an
    # unbacked one may be 0.
    backed = {s: s + 1 for s in e.free_symbols if not s.name.startswith("u")}
    shifted = sympy.expand(e.subs(backed, simultaneous=True))
    return all(term.as_coeff_Mul()[0] >= 0 and _plain(term) for term in Add.make_args(shifted))


def _plain(term: Expr) -> bool:
    return all(f.is_Integer or f.is_Symbol or f.is_Pow for f in Mul.make_args(term))


def known_less(a: Expr, b: Expr) -> bool:
    """Whether a < b for sure; both over sizes only."""
    return _nonnegative(sympy.expand(b - a - 1))


def upper(e: Expr, sizes: Sizes) -> Expr | None:
    """The largest value of an index expression, over sizes only; None where unknown."""
    total: Expr = Integer(0)
    for term in Add.make_args(e):
        factors = Mul.make_args(term)
        bound: Expr = Integer(1)
        for factor in factors:
            if factor in sizes:
                bound = bound * (sizes[factor] - 1)  # type: ignore[index]
            elif isinstance(factor, Rem):
                bound = bound * (factor.args[1] - 1)
            elif isinstance(factor, Div):
                inner = upper(factor.args[0], sizes)
                divisor = factor.args[1]
                if inner is None or not (inner.is_Integer and divisor.is_Integer):
                    quotient = None if inner is None else _divide(sympy.expand(inner + 1), divisor)
                    if quotient is None:
                        return None
                    bound = bound * (quotient - 1)
                else:
                    bound = bound * (int(inner) // int(divisor))
            elif factor.is_Integer:
                if int(factor) < 0:
                    return None
                bound = bound * factor
            elif factor.is_Symbol and not isinstance(factor, (Loop, Indirect)):
                bound = bound * factor  # a size
            else:
                return None
        total = total + bound
    return sympy.expand(total)


def _divide(e: Expr, divisor: Expr) -> Expr | None:
    """e / divisor where every term has the divisor as a factor, else None."""
    quotients = []
    for term in Add.make_args(e):
        quotient = _divide_term(term, divisor)
        if quotient is None:
            return None
        quotients.append(quotient)
    return Add(*quotients)


def _divide_term(term: Expr, divisor: Expr) -> Expr | None:
    if divisor == 0:  # an empty dimension: no point is ever there
        return None
    if divisor.is_Integer:
        coefficient, rest = term.as_coeff_Mul()
        if not coefficient.is_Integer or int(coefficient) % int(divisor):
            return None
        return Integer(int(coefficient) // int(divisor)) * rest
    quotient = term / divisor
    numerator, denominator = quotient.as_numer_denom()
    return numerator if denominator == 1 else None


def simplify(e: Expr, sizes: Sizes) -> Expr:
    """Resolve quotients and remainders as far as the loops' sizes allow."""
    if not e.has(Div, Rem):
        return e
    if e.func is Div:
        return _simplify_div(simplify(e.args[0], sizes), e.args[1], sizes)
    if e.func is Rem:
        return _simplify_rem(simplify(e.args[0], sizes), e.args[1], sizes)
    result = e.func(*(simplify(arg, sizes) for arg in e.args))
    return _rejoined(result) if isinstance(result, Add) else result


def _rejoined(e: Expr) -> Expr:
    """p % n + n·(p // n) is p."""
    for rest in e.atoms(Rem):
        whole = rest.args[1] * Div(*rest.args)
        if rest in e.args and whole in e.args:
            return e - rest - whole + rest.args[0]
    return e


def _simplify_div(a: Expr, d: Expr, sizes: Sizes) -> Expr:
    whole, rest = _split(sympy.expand(a), d)
    bound = upper(rest, sizes)
    if bound is not None and known_less(bound, d):
        return whole
    if isinstance(rest, Div):  # (x // a) // b
        return whole + _simplify_div(rest.args[0], rest.args[1] * d, sizes)
    if d.is_Integer:
        coarse, fine, step = _by_step(rest, int(d))
        if step > 1:
            fine_bound = upper(fine, sizes)
            if fine_bound is not None and known_less(fine_bound, Integer(step)):
                return whole + Div(Add(*coarse), Integer(int(d) // step))
    return whole + Div(rest, d)


def _simplify_rem(a: Expr, d: Expr, sizes: Sizes) -> Expr:
    _, rest = _split(sympy.expand(a), d)
    bound = upper(rest, sizes)
    if bound is not None and known_less(bound, d):
        return rest
    if d.is_Integer:
        coarse, fine, step = _by_step(rest, int(d))
        if step > 1:
            fine_bound = upper(fine, sizes)
            if fine_bound is not None and known_less(fine_bound, Integer(step)):
                return Integer(step) * Rem(Add(*coarse), Integer(int(d) // step)) + fine
    return Rem(rest, d)


def _split(e: Expr, d: Expr) -> tuple[Expr, Expr]:
    """e = d * whole + rest, by terms."""
    whole, rest = [], []
    for term in Add.make_args(e):
        if term.is_Integer and d.is_Integer:
            # What stays is never negative: quotients of negative numbers aren't floors in Triton.
            whole.append(Integer(int(term) // int(d)))
            rest.append(Integer(int(term) % int(d)))
            continue
        quotient = _divide_term(term, d)
        if quotient is None:
            rest.append(term)
        else:
            whole.append(quotient)
    return Add(*whole), Add(*rest)


def _by_step(e: Expr, d: int) -> tuple[list[Expr], Expr, int]:
    """Terms that are multiples of some step that divides d (over the step), the others, the step.

    (4*x + y) // 8 with y < 4 is x // 2: the step is 4.
    """
    steps = []
    for term in Add.make_args(e):
        coefficient = term.as_coeff_Mul()[0]
        steps.append(gcd(int(coefficient), d) if coefficient.is_Integer else 1)
    step = min((s for s in steps if s > 1), default=1)
    coarse = []
    fine = []
    for term, s in zip(Add.make_args(e), steps):
        if step > 1 and s % step == 0:
            quotient = _divide_term(term, Integer(step))
            coarse.append(quotient if quotient is not None else term)
        else:
            fine.append(term)
    return coarse, Add(*fine), step


def unflatten(position: Expr, size: Sequence[Expr]) -> tuple[Expr, ...]:
    """The index of the element at a position of a contiguous array of this size."""
    index: list[Expr] = []
    step: Expr = Integer(1)
    for dim in range(len(size) - 1, -1, -1):
        coordinate = Div(position, step)
        if dim > 0:
            coordinate = Rem(coordinate, size[dim])
        index.append(coordinate)
        step = step * size[dim]
    return tuple(reversed(index))


def coefficients(e: Expr, variables: Sequence[Symbol]) -> tuple[list[Expr], Expr] | None:
    """(coefficients, rest) with e = Σ coefficient·variable + rest; None unless it is affine."""
    found: dict[Symbol, Expr] = dict.fromkeys(variables, Integer(0))
    rest: list[Expr] = []
    for term in Add.make_args(sympy.expand(e)):
        used = [v for v in variables if term.has(v)]
        if not used:
            rest.append(term)
            continue
        variable = used[0]
        if len(used) > 1:
            return None
        quotient = term / variable
        if quotient.has(variable):
            return None
        found[variable] = found[variable] + quotient
    return [found[v] for v in variables], Add(*rest)


def along(places: Iterable[Expr], inner: Symbol, outer: Sequence[Symbol]) -> bool:
    """Whether most places move less in memory from one `inner` to the next than along `outer`.

    Places that don't depend on `inner` don't vote; those that aren't affine vote against.
    """
    votes = 0
    for place in places:
        if not place.has(inner):
            continue
        affine = coefficients(place, [inner, *outer])
        votes += 1 if affine is not None and _shortest_first(affine[0]) else -1
    return votes >= 0


def _shortest_first(steps: Sequence[Expr]) -> bool:
    known = [abs(int(step)) for step in steps if step.is_Integer and step != 0]
    return bool(steps[0].is_Integer) and abs(int(steps[0])) == min(known, default=0)

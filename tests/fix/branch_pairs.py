"""Branches before and after: (name, before, after, inputs), without their `import torch`."""

PAIRS = [
    (
        "items of a dict, read again",
        """\
def f(x: torch.Tensor, state: dict[str, torch.Tensor]):
    state = dict(state)
    if x.sum() > 0:
        state["count"] = state["count"] + 1
        state["sum"] = state["sum"] + x / state["count"]
    else:
        state["sum"] = state["sum"] * 0.5
    return state["sum"], state["count"]
""",
        """\
def f(x: torch.Tensor, state: dict[str, torch.Tensor]):
    state = dict(state)
    pred = x.sum() > 0
    count_then = state["count"] + 1
    state["count"] = torch.where(pred, count_then, state["count"])
    state["sum"] = torch.where(pred, state["sum"] + x / count_then, state["sum"] * 0.5)
    return state["sum"], state["count"]
""",
        "[(x, dict(count=torch.ones(()), sum=torch.ones(3)))"
        " for x in (torch.ones(3), -torch.ones(3))]",
    ),
    (
        "what is said in eager runs only",
        """\
def f(x: torch.Tensor):
    y = x * 2
    if y.isinf().any():
        if not torch.compiler.is_compiling():
            print("overflow", y)
        y = x
    else:
        y = y + 1
    return y
""",
        """\
def f(x: torch.Tensor):
    y = x * 2
    pred = y.isinf().any()
    if not torch.compiler.is_compiling() and pred:
        print("overflow", y)
    y = torch.where(pred, x, y + 1)
    return y
""",
        "[(torch.ones(3),), (torch.full((3,), 2e38),)]",
    ),
    (
        "a list, element by element",
        """\
def f(grads: list[torch.Tensor], limit: float):
    total = torch.stack([g.norm() for g in grads]).norm()
    if total > limit:
        grads = [g * (limit * 0.5) for g in grads]
    return grads
""",
        """\
def f(grads: list[torch.Tensor], limit: float):
    total = torch.stack([g.norm() for g in grads]).norm()
    pred = total > limit
    grads = [torch.where(pred, g * (limit * 0.5), g) for g in grads]
    return grads
""",
        "[([torch.ones(3), torch.ones(2)], 1.0), ([torch.zeros(3)], 1.0)]",
    ),
    (
        "three arms, two of them modules",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, mode: torch.Tensor):
        if mode == 0:
            x = self.a(x)
        elif mode == 1:
            x = self.b(x)
        else:
            x = x * 2
        return x.relu()


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, mode: torch.Tensor):
        x = torch.cond(
            mode == 0,
            lambda x, mode: self.a(x),
            lambda x, mode: (
                torch.cond(mode == 1, lambda x: self.b(x), lambda x: x * 2, (x,))
            ),
            (x, mode),
        )
        return x.relu()


f = M
""",
        "[(torch.ones(2, 3), torch.tensor([k])) for k in range(3)]",
    ),
    (
        "ret",
        """\
def f(x: torch.Tensor):
    if x.sum() > 0:
        return x.relu()
    return -x
""",
        """\
def f(x: torch.Tensor):
    return torch.where(x.sum() > 0, x.relu(), -x)
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "elif",
        """\
def f(x: torch.Tensor):
    total = x.sum()
    if total > 2:
        y = x * 2
    elif total > 0:
        # small and positive
        y = x + 1
    else:
        y = -x
    return y
""",
        """\
def f(x: torch.Tensor):
    total = x.sum()
    # small and positive
    y = torch.where(total > 2, x * 2, torch.where(total > 0, x + 1, -x))
    return y
""",
        "[(torch.ones(3),), (torch.ones(3)*0.1,), (-torch.ones(3),)]",
    ),
    (
        "elifret",
        """\
def f(x: torch.Tensor):
    total = x.sum()
    if total > 2:
        return x * 2
    elif total > 0:
        return x + 1
    y = x.abs()
    return y - 1
""",
        """\
def f(x: torch.Tensor):
    total = x.sum()
    y = x.abs()
    return torch.where(total > 2, x * 2, torch.where(total > 0, x + 1, y - 1))
""",
        "[(torch.ones(3),), (torch.ones(3)*0.1,), (-torch.ones(3),)]",
    ),
    (
        "several",
        """\
def f(x: torch.Tensor):
    y = x * 2
    z = x + 3
    if x.mean() > 0:
        y = y + z
        z = z * y
    else:
        z = y
    return y, z
""",
        """\
def f(x: torch.Tensor):
    y = x * 2
    z = x + 3
    pred = x.mean() > 0
    y_then = y + z
    y = torch.where(pred, y_then, y)
    z = torch.where(pred, z * y_then, y)
    return y, z
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "swap2",
        """\
def f(x: torch.Tensor):
    y = x * 2
    z = x + 3
    if x.mean() > 0:
        y = z - 1
    else:
        z = y - 1
    return y, z
""",
        """\
def f(x: torch.Tensor):
    y = x * 2
    z = x + 3
    pred = x.mean() > 0
    y = torch.where(pred, z - 1, y)
    z = torch.where(pred, z, y - 1)
    return y, z
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "aug",
        """\
def f(x: torch.Tensor):
    scale = 1.0
    if (x > 0).any():
        scale *= 2
    x = x * scale
    if x.sum() < 0:
        x += 1
    return x
""",
        """\
def f(x: torch.Tensor):
    scale = 1.0
    scale = torch.where((x > 0).any(), scale * 2, scale)
    x = x * scale
    x = torch.where(x.sum() < 0, x + 1, x)
    return x
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "attr",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.scale = torch.ones(())

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            self.count += 1
            self.scale = x.mean()
        return x * self.scale + self.count


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.scale = torch.ones(())

    def forward(self, x: torch.Tensor):
        pred = x.sum() > 0
        self.count.copy_(torch.where(pred, self.count + 1, self.count))
        self.scale = torch.where(pred, x.mean(), self.scale)
        return x * self.scale + self.count


f = M
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "item",
        """\
def f(x: torch.Tensor):
    out = x * 2
    if x[0] > 0:
        out[1] = x[0] + 5
        out[2:] = 0
    return out
""",
        """\
def f(x: torch.Tensor):
    out = x * 2
    pred = x[0] > 0
    out[1] = torch.where(pred, x[0] + 5, out[1])
    out[2:] = torch.where(pred, 0, out[2:])
    return out
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "nested",
        """\
def f(x: torch.Tensor):
    if x.sum() > 0:
        if x.max() > 2:
            x = x / 2
        else:
            x = x * 2
    return x
""",
        """\
def f(x: torch.Tensor):
    x = torch.where(x.sum() > 0, torch.where(x.max() > 2, x / 2, x * 2), x)
    return x
""",
        "[(torch.ones(3),), (torch.ones(3)*3,), (-torch.ones(3),)]",
    ),
    (
        "static_and",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if mask is not None and mask.any():
        x = x * mask
    return x
""",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if mask is not None:
        x = torch.where(mask.any(), x * mask, x)
    return x
""",
        "[(torch.ones(3),), (torch.ones(3),torch.ones(3)), (torch.ones(3),torch.zeros(3))]",
    ),
    (
        "static_or_ret",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if mask is None or mask.all():
        return x
    y = x * mask
    return y + 1
""",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if mask is not None:
        y = x * mask
        return torch.where(mask.all(), x, y + 1)
    return x
""",
        "[(torch.ones(3),), (torch.ones(3),torch.ones(3)), (torch.ones(3),torch.zeros(3))]",
    ),
    (
        "raise",
        """\
def f(x: torch.Tensor, name="x"):
    if (x < 0).any():
        raise ValueError(f"{name} must not be negative, got {x}")
    return x.sqrt()
""",
        """\
def f(x: torch.Tensor, name="x"):
    torch._assert_async(~(x < 0).any(), "name must not be negative")
    return x.sqrt()
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "raise_else",
        """\
def f(x: torch.Tensor, check=True):
    if not check or torch.isfinite(x).all():
        x = x + 1
    else:
        raise ValueError("not finite")
    return x
""",
        """\
def f(x: torch.Tensor, check=True):
    if check:
        torch._assert_async(torch.isfinite(x).all(), "not finite")
    x = x + 1
    return x
""",
        "[(torch.ones(3),), (torch.ones(3)/0,)]",
    ),
    (
        "ternary",
        """\
def f(x: torch.Tensor):
    total = x.abs().sum()
    scale = 1.0 if total == 0 else 1.0 / total
    return torch.relu(x * scale if x.sum() > 0 else -x)
""",
        """\
def f(x: torch.Tensor):
    total = x.abs().sum()
    scale = torch.where(total == 0, 1.0, 1.0 / total)
    return torch.relu(torch.where(x.sum() > 0, x * scale, -x))
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "andor",
        """\
def f(x: torch.Tensor):
    inside = (x > -9).all() and (x < 9).all()
    empty = not x.any()
    chain = 0 < x.mean() < 5
    return x * inside * chain + empty
""",
        """\
def f(x: torch.Tensor):
    inside = (x > -9).all() & (x < 9).all()
    empty = ~x.any()
    chain = (0 < x.mean()) & (x.mean() < 5)
    return x * inside * chain + empty
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "anyall",
        """\
def f(x: torch.Tensor, y: torch.Tensor):
    a = any(v > 0 for v in x)
    b = all([torch.isfinite(t).all() for t in (x, y)])
    return x * a, b
""",
        """\
def f(x: torch.Tensor, y: torch.Tensor):
    a = (x > 0).any()
    b = torch.stack([torch.isfinite(t).all() for t in (x, y)]).all()
    return x * a, b
""",
        "[(torch.ones(3),torch.ones(3)), (-torch.ones(3),torch.ones(3))]",
    ),
    (
        "in",
        """\
def f(x: torch.Tensor, step: torch.Tensor):
    if 2 in x:
        x = x + 1
    if step not in (1, 3):
        x = x * 3
    return x
""",
        """\
def f(x: torch.Tensor, step: torch.Tensor):
    x = torch.where((x == 2).any(), x + 1, x)
    x = torch.where((step != 1) & (step != 3), x * 3, x)
    return x
""",
        "[(torch.tensor([2, 0, 1]),torch.tensor(3)), (torch.tensor([3, 0, 1]),torch.tensor(2))]",
    ),
    (
        "walrus",
        """\
def f(x: torch.Tensor):
    if (hits := (x > 0).sum()) > 1:
        return x / hits
    return x
""",
        """\
def f(x: torch.Tensor):
    hits = (x > 0).sum()
    return torch.where(hits > 1, x / hits, x)
""",
        "[(torch.ones(3),), (torch.arange(3.0) - 1,)]",
    ),
    (
        "layer",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Identity()

    def forward(self, x: torch.Tensor):
        h = self.a(x)
        if h.sum() > 0:
            h = self.a(h)
            h = h.relu()
        else:
            h = self.b(h)
        return h


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Identity()

    def forward(self, x: torch.Tensor):
        h = self.a(x)

        def true_branch(h):
            h = self.a(h)
            h = h.relu()
            return h

        def false_branch(h):
            h = self.b(h)
            return h.clone()

        h = torch.cond(h.sum() > 0, true_branch, false_branch, (h,))
        return h


f = M
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "unbound",
        """\
def f(x: torch.Tensor):
    if x.sum() > 0:
        y = x * 2
        x = y + 1
    else:
        w = x / 2
        x = w - 1
    return x
""",
        """\
def f(x: torch.Tensor):
    y = x * 2
    w = x / 2
    x = torch.where(x.sum() > 0, y + 1, w - 1)
    return x
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "dict",
        """\
def f(x: torch.Tensor):
    if x.sum() > 0:
        return {"a": x * 2, "b": x}
    return {"a": x, "b": x}
""",
        """\
def f(x: torch.Tensor):
    return {"a": torch.where(x.sum() > 0, x * 2, x), "b": x}
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "inplacecall",
        """\
def f(x: torch.Tensor):
    y = x * 2
    if y.sum() > 1:
        y.clamp_(max=1.0)
    return y
""",
        """\
def f(x: torch.Tensor):
    y = x * 2
    y = torch.where(y.sum() > 1, y.clamp(max=1.0), y)
    return y
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "method",
        """\
class M(torch.nn.Module):
    def scaled(self, x: torch.Tensor):
        return x * 3

    def forward(self, x: torch.Tensor):
        if x.sum() > 0:
            x = self.scaled(x)
        return x


f = M
""",
        """\
class M(torch.nn.Module):
    def scaled(self, x: torch.Tensor):
        return x * 3

    def forward(self, x: torch.Tensor):
        x = torch.cond(x.sum() > 0, lambda x: self.scaled(x), lambda x: x.clone(), (x,))
        return x


f = M
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "mask_any",
        """\
def f(x: torch.Tensor):
    mask = x > 0
    if mask.any():
        x = x.clone()
        x[mask] = 0
    return x
""",
        """\
def f(x: torch.Tensor):
    mask = x > 0
    x_then = x.clone()
    x_then[mask] = 0
    x = torch.where(mask.any(), x_then, x)
    return x
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "shadow",
        """\
def f(x: torch.Tensor):
    h = x * 2
    if h.sum() > 0:
        h = x * 3
        y = h + 1
    else:
        h = x * 4
        y = h - 1
    return y
""",
        """\
def f(x: torch.Tensor):
    h = x * 2
    pred = h.sum() > 0
    h = x * 3
    y_then = h + 1
    h = x * 4
    y = torch.where(pred, y_then, h - 1)
    return y
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "loopinarm",
        """\
def f(x: torch.Tensor):
    y = x
    if x.sum() > 0:
        for k in range(3):
            y = y * 2
    return y
""",
        """\
def f(x: torch.Tensor):
    y = x
    y_then = y
    for k in range(3):
        y_then = y_then * 2
    y = torch.where(x.sum() > 0, y_then, y)
    return y
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "comment",
        """\
def f(x: torch.Tensor):
    # keep it bounded
    if x.sum() > 0:  # only then
        # halve it
        x = x / 2  # by two
    return x
""",
        """\
def f(x: torch.Tensor):
    # keep it bounded
    # only then
    # halve it
    # by two
    x = torch.where(x.sum() > 0, x / 2, x)
    return x
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "boolret",
        """\
def f(x: torch.Tensor):
    if (x > 0).all():
        ok = True
    else:
        ok = False
    return x * ok
""",
        """\
def f(x: torch.Tensor):
    ok = (x > 0).all()
    return x * ok
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "match",
        """\
def f(x: torch.Tensor, mode: torch.Tensor):
    match mode:
        case 0:
            return x
        case 1 | 2:
            return x + 1
        case _:
            return x + 2
""",
        """\
def f(x: torch.Tensor, mode: torch.Tensor):
    return torch.where(
        mode == 0, x, torch.where((mode == 1) | (mode == 2), x + 1, x + 2)
    )
""",
        "[(torch.ones(3),torch.tensor(0)), "
        "(torch.ones(3),torch.tensor(2)), (torch.ones(3),torch.tensor(5))]",
    ),
    (
        "sumfilter",
        """\
def f(x: torch.Tensor):
    return x + sum(v for v in x if v > 0)
""",
        """\
def f(x: torch.Tensor):
    return x + sum(torch.where(v > 0, v, 0) for v in x)
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "sorted",
        """\
def f(x: torch.Tensor, y: torch.Tensor):
    lo, hi = sorted([x.sum(), y.mean()])
    return hi - lo
""",
        """\
def f(x: torch.Tensor, y: torch.Tensor):
    lo, hi = list(torch.stack([x.sum(), y.mean()]).sort().values)
    return hi - lo
""",
        "[(torch.ones(3),torch.ones(3)),(torch.ones(3),9*torch.ones(3))]",
    ),
    (
        "numel",
        """\
def f(x: torch.Tensor):
    hits = torch.nonzero(x > 1)
    if hits.numel() == 0:
        return x
    return x * 2
""",
        """\
def f(x: torch.Tensor):
    return torch.where((x > 1).sum() == 0, x, x * 2)
""",
        "[(torch.ones(3),),(torch.ones(3)*3,)]",
    ),
    (
        "floatitem",
        """\
def f(x: torch.Tensor, limit=0.5):
    level = float(x[0])
    if level > limit:
        x = x * 2
    return x
""",
        """\
def f(x: torch.Tensor, limit=0.5):
    level = x[0].reshape(())
    x = torch.where(level > limit, x * 2, x)
    return x
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "notnumeric",
        """\
def f(x: torch.Tensor):
    if not x.sum():
        x = x + 1
    return x
""",
        """\
def f(x: torch.Tensor):
    x = torch.where(x.sum() == 0, x + 1, x)
    return x
""",
        "[(torch.ones(3),),(torch.zeros(3),)]",
    ),
    (
        "chainand",
        """\
def f(x: torch.Tensor, flag=True):
    if flag and 0 < x.mean() < 5 and not torch.isnan(x).any():
        x = x + 1
    else:
        x = x - 1
    return x
""",
        """\
def f(x: torch.Tensor, flag=True):
    if flag:
        x = torch.where(
            ((0 < x.mean()) & (x.mean() < 5)) & ~torch.isnan(x).any(), x + 1, x - 1
        )
    else:
        x = x - 1
    return x
""",
        "[(torch.ones(3),),(-torch.ones(3),),(torch.ones(3),False)]",
    ),
    (
        "elifguard",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if x.dim() == 2:
        y = x
    elif mask is not None and mask.any():
        y = x * mask
    else:
        y = -x
    return y
""",
        """\
def f(x: torch.Tensor, mask: torch.Tensor | None = None):
    if x.dim() == 2:
        y = x
    else:
        if mask is not None:
            y = torch.where(mask.any(), x * mask, -x)
        else:
            y = -x
    return y
""",
        "[(torch.ones(3),), (torch.ones(3),torch.ones(3)), (torch.ones(3),torch.zeros(3))]",
    ),
    (
        "staticinarm",
        """\
def f(x: torch.Tensor, flag=True):
    scale = x.mean()
    if x.sum() > 0:
        if flag:
            scale = scale * 2
        y = x * scale
    else:
        y = x - scale
    return y, scale
""",
        """\
def f(x: torch.Tensor, flag=True):
    scale = x.mean()
    pred = x.sum() > 0
    scale_then = scale
    if flag:
        scale_then = scale_then * 2
    scale = torch.where(pred, scale_then, scale)
    y = torch.where(pred, x * scale_then, x - scale)
    return y, scale
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "raisemsg",
        """\
def f(x: torch.Tensor):
    if x.max() > 9:
        msg = f"too big: {x.max()}"
        raise ValueError(msg)
    if not (x >= -9).all():
        raise ValueError
    return x + 1
""",
        """\
def f(x: torch.Tensor):
    torch._assert_async(~(x.max() > 9), "too big")
    torch._assert_async((x >= -9).all(), "check failed: not (x >= -9).all()")
    return x + 1
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "moduletuple",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        if x.mean() > 0:
            h = self.lin(x)
            return h, h.sum()
        return x, x.sum()


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        def true_branch(x):
            h = self.lin(x)
            return (h, h.sum())

        def false_branch(x):
            return (x.clone(), x.sum())

        return torch.cond(x.mean() > 0, true_branch, false_branch, (x,))


f = M
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "condaug",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        h = self.lin(x)
        g = h.relu()
        if x.mean() > 0:
            h = self.lin(h)
            h += g
            h = h[:2]
        else:
            h = h[1:]
        return h


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        h = self.lin(x)
        g = h.relu()

        def true_branch(h, g):
            h = self.lin(h)
            h = h + g
            h = h[:2]
            return h.clone()

        def false_branch(h, g):
            h = h[1:]
            return h.clone()

        h = torch.cond(x.mean() > 0, true_branch, false_branch, (h, g))
        return h


f = M
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "numscale",
        """\
def f(x: torch.Tensor):
    scale = 1.0
    bias = 0
    if x.abs().max() > 0.5:
        scale = 0.5
        bias = 1
    return x * scale + bias
""",
        """\
def f(x: torch.Tensor):
    scale = 1.0
    bias = 0
    pred = x.abs().max() > 0.5
    scale = torch.where(pred, 0.5, scale)
    bias = torch.where(pred, 1, bias)
    return x * scale + bias
""",
        "[(torch.ones(3),), (-torch.ones(3),)]",
    ),
    (
        "number_or_tensor",
        """\
def f(x: torch.Tensor, scale: float | torch.Tensor):
    if scale > 1.5:
        return x * scale
    return x
""",
        """\
def f(x: torch.Tensor, scale: float | torch.Tensor):
    if isinstance(scale, torch.Tensor):
        return torch.where(scale > 1.5, x * scale, x)
    if scale > 1.5:
        return x * scale
    return x
""",
        "[(torch.ones(3), 2.0), (torch.ones(3), 1.0), (torch.ones(3), torch.tensor(2.0))]",
    ),
    (
        "number_or_tensor_stays",
        """\
def f(x: torch.Tensor, eps: float | torch.Tensor):
    if not eps:
        x = x + 1
    return x
""",
        """\
def f(x: torch.Tensor, eps: float | torch.Tensor):
    if isinstance(eps, torch.Tensor):
        x = torch.where(eps == 0, x + 1, x)
    elif not eps:
        x = x + 1
    return x
""",
        "[(torch.ones(3), 0.0), (torch.ones(3), 1.0), (torch.ones(3), torch.tensor(0.0))]",
    ),
    (
        "whole_number_or_tensor",
        """\
def f(x: torch.Tensor, block: int | torch.Tensor):
    if block == 2:
        x = x * 0.5
    return torch.tanh(x)
""",
        """\
def f(x: torch.Tensor, block: int | torch.Tensor):
    x = torch.where(torch.as_tensor(block) == 2, x * 0.5, x)
    return torch.tanh(x)
""",
        "[(torch.ones(3), 2), (torch.ones(3), 7), (torch.ones(3), torch.tensor(2))]",
    ),
    (
        "number_or_tensor_raises",
        """\
def f(x: torch.Tensor, eps: float | torch.Tensor):
    if eps < 0:
        raise ValueError("negative")
    return x + eps
""",
        """\
def f(x: torch.Tensor, eps: float | torch.Tensor):
    if isinstance(eps, torch.Tensor):
        torch._assert_async(~(eps < 0), "negative")
    elif eps < 0:
        raise ValueError("negative")
    return x + eps
""",
        "[(torch.ones(3), 0.5), (torch.ones(3), -1.0), (torch.ones(3), torch.tensor(-1.0))]",
    ),
    (
        "shortcut",
        """\
def keep(target):
    kept = target != 0
    if kept.all():
        return None
    return kept


def f(x: torch.Tensor, target: torch.Tensor):
    kept = keep(target)
    return x if kept is None else x * kept
""",
        """\
def keep(target):
    kept = target != 0
    if not torch.compiler.is_compiling() and kept.all():
        return None
    return kept


def f(x: torch.Tensor, target: torch.Tensor):
    kept = keep(target)
    return x if kept is None else x * kept
""",
        "[(torch.ones(3), torch.tensor([1, 2, 3])), (torch.ones(3), torch.tensor([1, 0, 3]))]",
    ),
    (
        "shortcut_value",
        """\
def f(x: torch.Tensor, mask: torch.Tensor):
    mask = None if mask.all() or mask.ndim == 0 else mask
    return x if mask is None else x * mask
""",
        """\
def f(x: torch.Tensor, mask: torch.Tensor):
    mask = (
        None
        if not torch.compiler.is_compiling() and (mask.all() or mask.ndim == 0)
        else mask
    )
    return x if mask is None else x * mask
""",
        "[(torch.ones(3), torch.ones(3, dtype=torch.bool)), (torch.ones(3), torch.arange(3) > 1)]",
    ),
    (
        "operands_that_share_memory",
        """\
def f(x: torch.Tensor, mask: torch.Tensor):
    q, k, v = x.chunk(3, dim=-1)
    if mask.all():
        y = torch.bmm(q, k) + v
    else:
        y = torch.bmm(q * mask, k) - v
    return y
""",
        """\
def f(x: torch.Tensor, mask: torch.Tensor):
    q, k, v = x.chunk(3, dim=-1)
    y = torch.cond(
        mask.all(),
        lambda q, k, v, mask: torch.bmm(q, k) + v,
        lambda q, k, v, mask: torch.bmm(q * mask, k) - v,
        (q, k.clone(), v.clone(), mask),
    )
    return y
""",
        "[(torch.randn(2, 2, 6), torch.ones(2, 2)), (torch.randn(2, 2, 6), torch.eye(2))]",
    ),
    (
        "guard_clause",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.zeros(3, 2))
        self.register_buffer("usage", torch.ones(3))

    def expire(self, x):
        unused = self.usage < 0.5
        if not unused.any():
            return
        self.codes.copy_(torch.where(unused[:, None], x, self.codes))

    def forward(self, x):
        self.usage.lerp_(x.detach().sum(1), 0.5)
        self.expire(x.detach())
        return x - self.codes


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.zeros(3, 2))
        self.register_buffer("usage", torch.ones(3))

    def expire(self, x):
        unused = self.usage < 0.5
        self.codes.copy_(
            torch.where(
                ~unused.any(), self.codes, torch.where(unused[:, None], x, self.codes)
            )
        )

    def forward(self, x):
        self.usage.lerp_(x.detach().sum(1), 0.5)
        self.expire(x.detach())
        return x - self.codes


f = M
""",
        "[(torch.ones(3, 2),), (torch.tensor([[1.0, 1], [-4, 0], [2, 0]]),)]",
    ),
    (
        "chain_in_place",
        """\
class M(torch.nn.Module):
    def __init__(self, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("init", torch.tensor(False))

    def forward(self, x):
        batch = x.detach().mean(0)
        if not self.init:
            self.mean.copy_(batch)
            self.init.fill_(True)
        else:
            self.mean.mul_(self.momentum).add_(batch, alpha=1 - self.momentum)
        return x - self.mean


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("init", torch.tensor(False))

    def forward(self, x):
        batch = x.detach().mean(0)
        pred = ~self.init
        self.mean.copy_(
            torch.where(
                pred,
                batch,
                self.mean.mul(self.momentum).add(batch, alpha=1 - self.momentum),
            )
        )
        self.init.copy_(torch.where(pred, torch.full_like(self.init, True), self.init))
        return x - self.mean


f = M
""",
        "[(torch.ones(2, 3),), (torch.rand(2, 3),)]",
    ),
    (
        "written_twice",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(16.0))
        self.register_buffer("good", torch.tensor(0))

    def forward(self, g):
        finite = torch.isfinite(g).all()
        if finite:
            self.good += 1
            if self.good >= 2:
                self.scale *= 2
                self.good.zero_()
        else:
            self.scale /= 2
            self.good.zero_()
        return torch.where(torch.isfinite(g), g, 0.0) / self.scale


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(16.0))
        self.register_buffer("good", torch.tensor(0))

    def forward(self, g):
        finite = torch.isfinite(g).all()
        good_then = self.good + 1
        pred = good_then >= 2
        self.good.copy_(
            torch.where(
                finite,
                torch.where(pred, torch.zeros_like(good_then), good_then),
                torch.zeros_like(self.good),
            )
        )
        self.scale.copy_(
            torch.where(
                finite, torch.where(pred, self.scale * 2, self.scale), self.scale / 2
            )
        )
        return torch.where(torch.isfinite(g), g, 0.0) / self.scale


f = M
""",
        "[(torch.ones(3),), (torch.tensor([1.0, float('inf')]),)]",
    ),
]

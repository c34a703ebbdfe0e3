"""Loops before and after: (name, before, after, inputs), without their `import torch`."""

PAIRS = [
    (
        "until",
        """\
def f(x: torch.Tensor):
    while x.sum() < 10:
        x = x.abs() + 1
    return x
""",
        """\
def f(x: torch.Tensor):
    def more(x):
        return x.sum() < 10

    def step(x):
        x = x.abs() + 1
        return (x,)

    start = (x,)
    (last_x,) = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    return x
""",
        "[(torch.zeros(3),), (torch.full((3,), 20.0),), (torch.full((3,), 3.0),)]",
    ),
    (
        "counted in Python",
        """\
def f(x: torch.Tensor, tol: float = 0.1):
    steps = 0
    while steps < 5 and not (x < tol).all():
        x = x / 2
        steps += 1
    return x * steps
""",
        """\
def f(x: torch.Tensor, tol: float = 0.1):
    steps = 0

    def more(steps, x):
        return ~(x < tol).all() & (steps < 5)

    def step(steps, x):
        x = x / 2
        steps = steps + 1
        return steps, x

    start = (torch.tensor(steps, device=x.device), x)
    steps, last_x = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    return x * steps
""",
        "[(torch.ones(3),), (torch.zeros(3),), (torch.full((3,), 1e6),)]",
    ),
    (
        "bounded",
        """\
def f(x: torch.Tensor, tol: float = 0.5):
    i = 0
    while x.norm() > tol and i < 8:
        # shrink
        x = x * 0.7
        i += 1
    return x
""",
        """\
def f(x: torch.Tensor, tol: float = 0.5):
    i = 0

    def more(x, i):
        return (x.norm() > tol) & (i < 8)

    def step(x, i):
        # shrink
        x = x * 0.7
        i = i + 1
        return x, i

    start = (x, torch.tensor(i, device=x.device))
    last_x, _ = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    return x
""",
        "[(torch.ones(3),), (torch.zeros(3),), (torch.full((3,), 1e6),)]",
    ),
    (
        "number first, tensor then",
        """\
def f(x: torch.Tensor):
    err = float("inf")
    prev = x
    while err > 0.01:
        prev = x
        x = torch.cos(x)
        err = (x - prev).abs().max()
    return x, prev
""",
        """\
def f(x: torch.Tensor):
    err = float("inf")
    prev = x
    # while_loop differentiates through what requires grad from the start
    seed = sum(t.flatten()[:0].sum() for t in (prev, x))

    def more(err, prev, x):
        return torch.as_tensor(err > 0.01)

    def step(err, prev, x):
        prev = x
        x = torch.cos(x)
        err = (x - prev).abs().max()
        return err, prev.clone(), x

    start = (prev.new_full((), err), prev + seed, x + seed)
    _, last_prev, last_x = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    prev = torch.where(entered, last_prev, prev)
    x = torch.where(entered, last_x, x)
    return x, prev
""",
        "[(torch.zeros(3),), (torch.full((3,), 0.739085),)]",
    ),
    (
        "break at the head",
        """\
def f(x: torch.Tensor):
    while True:
        if x.norm() < 0.1:
            break
        x = x * 0.5
    return x
""",
        """\
def f(x: torch.Tensor):
    def more(x):
        return ~(x.norm() < 0.1)

    def step(x):
        x = x * 0.5
        return (x,)

    start = (x,)
    (last_x,) = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    return x
""",
        "[(torch.ones(3),), (torch.zeros(3),)]",
    ),
    (
        "break in the middle",
        """\
def f(x: torch.Tensor):
    y = x
    n = 0
    while True:
        y = y * 0.5 + 0.01 * x
        if y.norm() < 1:
            break
        n += 1
        y = y - 0.1
    return y + n
""",
        """\
def f(x: torch.Tensor):
    y = x
    n = 0
    # while_loop differentiates through what requires grad from the start
    seed = sum(t.flatten()[:0].sum() for t in (y, x))

    def more(done, y, n):
        return ~done

    def step(done, y, n):
        y = y * 0.5 + 0.01 * x
        done = y.norm() < 1
        n = torch.where(done, n, n + 1)
        y = torch.where(done, y, y - 0.1)
        return done, y, n

    _, y, n = torch.while_loop(
        more,
        step,
        (
            torch.tensor(False, device=y.device),
            y + seed,
            torch.tensor(n, device=y.device),
        ),
    )
    return y + n
""",
        "[(torch.ones(3),), (torch.full((3,), 9.0),)]",
    ),
    (
        "continue, break and else",
        """\
def f(x: torch.Tensor):
    while x.sum() < 100:
        x = x + 1
        if x.max() > 20:
            x = x * 2
            continue
        x = x * 1.5
        if x.min() > 29:
            break
        x = x + 3
    else:
        x = x - 1000
    return x
""",
        """\
def f(x: torch.Tensor):
    def more(done, x):
        return ~done & (x.sum() < 100)

    def step(done, x):
        x = x + 1
        skip = x.max() > 20
        x = torch.where(skip, x * 2, x)
        x = torch.where(skip, x, x * 1.5)
        leaves = ~skip & (x.min() > 29)
        done = leaves
        skip_2 = skip | done
        x = torch.where(skip_2, x, x + 3)
        return done, x

    start = (torch.tensor(False, device=x.device), x)
    done, last_x = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    x = torch.where(done, x, x - 1000)
    return x
""",
        "[(torch.ones(3),), (torch.full((3,), 20.0),), (torch.full((3,), 200.0),), "
        "(torch.full((3,), 19.0),), (torch.tensor([1.0, 2.0, 21.0]),)]",
    ),
    (
        "items and in-place sums",
        """\
def f(x: torch.Tensor):
    i = 0
    total = torch.zeros_like(x[0])
    out = torch.zeros(x.shape[0])
    done = False
    while i < 4 and not done:
        total += x[i]
        out[i] = total.sum()
        done = total.sum() > 3
        i += 1
    return total, out
""",
        """\
def f(x: torch.Tensor):
    i = 0
    total = torch.zeros_like(x[0])
    out = torch.zeros(x.shape[0])
    done = False
    # while_loop differentiates through what requires grad from the start
    seed = sum(t.flatten()[:0].sum() for t in (total, out, x))

    def more(i, done, total, out):
        return ~torch.as_tensor(done) & (i < 4)

    def step(i, done, total, out):
        total = total + x.index_select(0, i.reshape(1)).squeeze(0)
        out = out.index_copy(0, i.view(1), total.sum().unsqueeze(0))
        done = total.sum() > 3
        i = i + 1
        return i, done, total, out

    start = (
        torch.tensor(i, device=total.device),
        torch.tensor(done, device=total.device),
        total + seed,
        out + seed,
    )
    _, _, last_total, last_out = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    total = torch.where(entered, last_total, total)
    out = torch.where(entered, last_out, out)
    return total, out
""",
        "[(torch.ones(4, 3) / 4,), (torch.ones(4, 3) * 9,), (-torch.ones(4, 3),)]",
    ),
    (
        "pairs",
        """\
def f(x: torch.Tensor):
    a, b = x, x + 1
    while b.sum() < 50:
        a, b = b, a + b
    return a
""",
        """\
def f(x: torch.Tensor):
    a, b = x, x + 1
    # while_loop differentiates through what requires grad from the start
    seed = sum(t.flatten()[:0].sum() for t in (b, a))

    def more(b, a):
        return b.sum() < 50

    def step(b, a):
        a, b = b, a + b
        return b, a.clone()

    start = (b + seed, a + seed)
    _, last_a = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    a = torch.where(entered, last_a, a)
    return a
""",
        "[(torch.ones(3),), (torch.full((3,), 60.0),), (torch.full((3,), 15.0),)]",
    ),
    (
        "range of a tensor",
        """\
def f(x: torch.Tensor, lengths: torch.Tensor):
    total = x.new_zeros(x.shape[1])
    for i in range(lengths.max()):
        total = total + x[i] * i
    return total
""",
        """\
def f(x: torch.Tensor, lengths: torch.Tensor):
    total = x.new_zeros(x.shape[1])
    turns = lengths.max().long()
    # while_loop differentiates through what requires grad from the start
    seed = sum(t.flatten()[:0].sum() for t in (total, x))

    def more(i, total):
        return i < turns

    def step(i, total):
        total = total + x.index_select(0, i.reshape(1)).squeeze(0) * i
        return i + 1, total

    start = (torch.zeros_like(turns), total + seed)
    _, last_total = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    total = torch.where(entered, last_total, total)
    return total
""",
        "[(torch.rand(4, 3), torch.tensor([1, 3])), "
        "(torch.rand(4, 3), torch.tensor([0, 0])), "
        "(torch.rand(4, 3), torch.tensor([0, 1]))]",
    ),
    (
        "few rounds, left early",
        """\
def f(x: torch.Tensor):
    for scale in range(4):
        x = x * 2
        if x.abs().max() > 8:
            break
    return x
""",
        """\
def f(x: torch.Tensor):
    done = torch.tensor(False, device=x.device)
    for scale in range(4):
        x = torch.where(done, x, x * 2)
        done = done | (x.abs().max() > 8)
    return x
""",
        "[(torch.ones(3) / 9,), (torch.ones(3),), (torch.ones(3) * 20,)]",
    ),
    (
        "rounds of unknown number, left early",
        """\
def f(x: torch.Tensor, n: int):
    for _ in range(n):
        new = torch.cos(x)
        if (new - x).abs().max() < 1e-3:
            break
        x = new
    return x
""",
        """\
def f(x: torch.Tensor, n: int):
    def more(done, turn, x):
        return ~done & (turn < n)

    def step(done, turn, x):
        new = torch.cos(x)
        done = (new - x).abs().max() < 1e-3
        x = torch.where(done, x, new)
        return done, turn + 1, x

    start = (torch.tensor(False, device=x.device), torch.tensor(0, device=x.device), x)
    _, _, last_x = torch.while_loop(more, step, start)
    # the backward pass of while_loop runs one round even where the loop runs none
    entered = more(*start)
    x = torch.where(entered, last_x, x)
    return x
""",
        "[(torch.zeros(3), 3), (torch.zeros(3), 0), (torch.zeros(3), 50), (torch.zeros(3), 1)]",
    ),
    (
        "rows skipped",
        """\
def f(xs: torch.Tensor):
    best = xs[0]
    for row in xs:
        if row.sum() < 0:
            continue
        best = torch.maximum(best, row)
    return best
""",
        """\
def f(xs: torch.Tensor):
    best = xs[0]
    for row in xs:
        skip = row.sum() < 0
        best = torch.where(skip, best, torch.maximum(best, row))
    return best
""",
        "[(torch.tensor([[1.0, 2], [-3, -4], [5, 0]]),), (-torch.ones(1, 2),)]",
    ),
    (
        "no gradients",
        """\
@torch.no_grad()
def f(x: torch.Tensor, w: torch.Tensor):
    total = torch.zeros_like(x)
    while total.norm() < 9:
        total = total + x * w
    return total
""",
        """\
@torch.no_grad()
def f(x: torch.Tensor, w: torch.Tensor):
    total = torch.zeros_like(x)

    def more(total):
        return total.norm() < 9

    def step(total):
        total = total + x * w
        return (total,)

    (total,) = torch.while_loop(more, step, (total,))
    return total
""",
        "[(torch.ones(3), torch.ones(3)), (torch.ones(3), torch.ones(3) * 99)]",
    ),
    (
        "captured parameters",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, stop: torch.Tensor):
        while x.abs().sum() < stop:
            x = self.cell(x) + x + 1
        return x


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, stop: torch.Tensor):
        # while_loop differentiates through what requires grad from the start
        seed = sum(t.flatten()[:0].sum() for t in (x, stop, *self.cell.parameters()))

        def more(x):
            return x.abs().sum() < stop

        def step(x):
            x = self.cell(x) + x + 1
            return (x,)

        start = (x + seed,)
        (last_x,) = torch.while_loop(more, step, start)
        # the backward pass of while_loop runs one round even where the loop runs none
        entered = more(*start)
        x = torch.where(entered, last_x, x)
        return x


f = M
""",
        "[(torch.ones(3), torch.tensor(30.0)), (torch.ones(3), torch.tensor(0.0))]",
    ),
    (
        "greedy decoding",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(7, 8)
        self.out = torch.nn.Linear(8, 7)
        self.limit = 10

    def forward(self, tokens: torch.Tensor):
        alive = torch.ones(tokens.shape[0], dtype=torch.long)
        while True:
            logits = self.out(self.emb(tokens).cumsum(1)[:, -1])
            new = logits.argmax(-1) * alive
            tokens = torch.cat([tokens, new[:, None]], dim=1)
            alive = alive * (new != 0).long()
            if alive.max() == 0 or tokens.shape[1] >= self.limit:
                break
        return tokens


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(7, 8)
        self.out = torch.nn.Linear(8, 7)
        self.limit = 10

    def forward(self, tokens: torch.Tensor):
        alive = torch.ones(tokens.shape[0], dtype=torch.long)
        buffer = torch.nn.functional.pad(
            tokens, (0, max(self.limit - tokens.shape[1], 1))
        )

        def more(done, size, buffer, alive):
            return ~done

        def step(done, size, buffer, alive):
            tokens = buffer[:, :size]
            logits = self.out(self.emb(tokens).cumsum(1)[:, -1])
            new = logits.argmax(-1) * alive
            buffer = buffer.slice_scatter(new[:, None], 1, size, size + 1)
            size = size + 1
            alive = alive * (new != 0).long()
            full = torch.full((), size, device=buffer.device) >= self.limit
            done = (alive.max() == 0) | full
            return done, size, buffer, alive

        with torch.no_grad():  # a carried size has no gradients
            _, size, buffer, _ = torch.while_loop(
                more,
                step,
                (
                    torch.tensor(False, device=alive.device),
                    tokens.shape[1],
                    buffer,
                    alive,
                ),
            )
        tokens = buffer[:, :size]
        return tokens


f = M
""",
        "[(torch.tensor([[1, 2], [3, 4]]),), (torch.tensor([[5], [6]]),), "
        "(torch.ones(2, 12).long(),)]",
    ),
    (
        "experts",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 5, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(5))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        hot = torch.nn.functional.one_hot(pick, 5).permute(2, 1, 0)
        out = torch.zeros_like(x)
        busy = (hot.sum(dim=(1, 2)) > 0).nonzero()
        for e in busy:
            slot, tok = torch.where(hot[e].squeeze(0))
            y = self.experts[e](x[tok]) * weight[tok, slot, None]
            out.index_add_(0, tok, y)
        return out


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 5, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(5))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        hot = torch.nn.functional.one_hot(pick, 5).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for e in range(len(self.experts)):
            gate = torch.where(hot[e].t() > 0, weight, 0).sum(-1, keepdim=True)
            y = self.experts[e](x) * gate
            out += y
        return out


f = M
""",
        "[(torch.rand(6, 4),), (torch.ones(1, 4),)]",
    ),
    (
        "experts in turn",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor, pick: torch.Tensor, weight: torch.Tensor):
        out = torch.zeros_like(x)
        chosen = torch.nn.functional.one_hot(pick, 3).permute(2, 0, 1)
        for e in range(len(self.experts)):
            row, slot = torch.where(chosen[e])
            if row.numel() > 0:
                out.index_add_(0, row, self.experts[e](x[row]) * weight[row, slot].unsqueeze(-1))
        return out


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor, pick: torch.Tensor, weight: torch.Tensor):
        out = torch.zeros_like(x)
        chosen = torch.nn.functional.one_hot(pick, 3).permute(2, 0, 1)
        for e in range(len(self.experts)):
            gate = torch.where(chosen[e] > 0, weight, 0).sum(-1, keepdim=True)
            out += self.experts[e](x) * gate
        return out


f = M
""",
        "[(torch.rand(4, 4), torch.tensor([[0], [1], [2], [0]]), torch.rand(4, 1)), "
        "(torch.rand(4, 4), torch.tensor([[0, 1]] * 4), torch.rand(4, 2))]",
    ),
    (
        "experts that skip what nobody chose",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 3, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            row, slot = torch.where(pick == e)
            if row.numel() == 0:
                continue
            out[row] += weight[row, slot, None] * expert(x[row])
        return out


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 3, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            gate = torch.where(pick == e, weight, 0).sum(-1, keepdim=True)
            out += gate * expert(x)
        return out


f = M
""",
        "[(torch.rand(6, 4),), (torch.ones(1, 4),)]",
    ),
    (
        "experts by mask",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 3, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mask = (pick == e).any(-1)
            if not mask.any():
                continue
            rows = x[mask]
            gate = (weight * (pick == e)).sum(-1)[mask]
            out[mask] += expert(rows) * gate[:, None]
        return out


f = M
""",
        """\
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 3, bias=False)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor):
        weight, pick = self.router(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mask = (pick == e).any(-1)
            rows = x
            gate = (weight * (pick == e)).sum(-1)
            out = torch.where(mask[..., None], out + expert(rows) * gate[:, None], out)
        return out


f = M
""",
        "[(torch.rand(6, 4),), (torch.ones(1, 4),)]",
    ),
    (
        "rows reduced",
        """\
def f(x: torch.Tensor):
    out = []
    for row in x:
        out.append(row / row.norm())
    return torch.stack(out)
""",
        """\
def f(x: torch.Tensor):
    return x / x.norm(dim=-1, keepdim=True)
""",
        "[(torch.rand(4, 3),)]",
    ),
    (
        "comprehension over rows",
        """\
def f(x: torch.Tensor):
    return torch.stack([torch.relu(row) * 2 for row in x]).sum(1)
""",
        """\
def f(x: torch.Tensor):
    return (torch.relu(x) * 2).sum(1)
""",
        "[(torch.randn(4, 3),)]",
    ),
    (
        "running sum",
        """\
def f(x: torch.Tensor):
    total = torch.zeros_like(x[0])
    out = []
    for row in x:
        total = total + row * 2
        out.append(total)
    return torch.stack(out)
""",
        """\
def f(x: torch.Tensor):
    total = torch.zeros_like(x[0])
    return total + (x * 2).cumsum(0)
""",
        "[(torch.randn(4, 3),), (torch.randn(1, 3),)]",
    ),
    (
        "recurrence",
        """\
def f(x: torch.Tensor, w: torch.Tensor):
    h = torch.zeros_like(x[0])
    out = []
    for row in x:
        h = torch.tanh(w * h + row)
        out.append(h)
    y = torch.stack(out)
    return y, h
""",
        """\
def f(x: torch.Tensor, w: torch.Tensor):
    h = torch.zeros_like(x[0])

    def step(h, row):
        h = torch.tanh(w * h + row)
        return h, h.clone()

    h, rows = torch._higher_order_ops.scan(step, h, x)
    y = rows
    return y, h
""",
        "[(torch.randn(4, 3), torch.rand(3)), (torch.randn(1, 3), torch.rand(3))]",
    ),
    (
        "rows of several statements",
        """\
def f(x: torch.Tensor):
    out = []
    for row in x:
        y = row.sigmoid()
        out.append((y * row).sum())
    return torch.stack(out)
""",
        """\
def f(x: torch.Tensor):
    y = x.sigmoid()
    return (y * x).sum(dim=-1)
""",
        "[(torch.randn(4, 3),)]",
    ),
    (
        "two values from row to row",
        """\
def f(x: torch.Tensor, w: torch.Tensor):
    h = torch.zeros_like(x[0])
    m = x[0]
    out = []
    for row in x:
        h = w * h + row
        m = torch.maximum(m, h)
        out.append(h - m)
    return torch.stack(out)
""",
        """\
def f(x: torch.Tensor, w: torch.Tensor):
    h = torch.zeros_like(x[0])
    m = x[0]

    def step(carry, row):
        h, m = carry
        h = w * h + row
        m = torch.maximum(m, h)
        return (h, m), h - m

    _, rows = torch._higher_order_ops.scan(step, (h, m.clone()), x)
    return rows
""",
        "[(torch.randn(4, 3), torch.rand(3))]",
    ),
    (
        "written at the turn's index",
        """\
def f(table: torch.Tensor, start: torch.Tensor):
    tokens = torch.zeros(start.shape[0], 4, dtype=torch.long)
    token = start
    for step in range(4):
        token = table[token]
        tokens[:, step] = token
        if (token == 0).all():
            break
    return tokens
""",
        """\
def f(table: torch.Tensor, start: torch.Tensor):
    tokens = torch.zeros(start.shape[0], 4, dtype=torch.long)
    token = start
    done = torch.tensor(False, device=token.device)
    for step in range(4):
        token = torch.where(done, token, table[token])
        tokens[:, step] = torch.where(done, tokens[:, step], token)
        done = done | (token == 0).all()
    return tokens
""",
        "[(torch.tensor([0, 0, 1, 2]), torch.tensor([3, 1])),"
        " (torch.tensor([1, 2, 3, 0]), torch.tensor([1, 2]))]",
    ),
    (
        "written where a tensor points",
        """\
def f(x: torch.Tensor, scores: torch.Tensor):
    kept = torch.zeros_like(scores)
    for _ in range(3):
        best = scores.argmax()
        if scores.max() < 0.1:
            break
        kept[best] = scores.max()
        scores = scores * torch.exp(-(x - x[best]).abs())
    return kept
""",
        """\
def f(x: torch.Tensor, scores: torch.Tensor):
    kept = torch.zeros_like(scores)
    done = torch.tensor(False, device=scores.device)
    for _ in range(3):
        best = scores.argmax()
        done = done | (scores.max() < 0.1)
        kept[best.unsqueeze(0)] = torch.where(
            done, kept[best.unsqueeze(0)], scores.max()
        )
        scores = torch.where(
            done,
            scores,
            scores * torch.exp(-(x - x[best.unsqueeze(0)].squeeze(0)).abs()),
        )
    return kept
""",
        "[(torch.tensor([0.0, 1, 5]), torch.tensor([0.2, 0.9, 0.5])),"
        " (torch.zeros(3), torch.zeros(3))]",
    ),
]

"""The page about models, from stored results."""

from __future__ import annotations

from typing import Any

HEAD = """# Models

One small model with random weights for each family, from timm and transformers. Inference and a
training step (forward and backward) are each captured with `fullgraph=True`, run through this
compiler's backend on the CPU, and compared with eager: outputs, the gradients of all parameters,
and the buffers afterwards: within 1e-4 relative and 1e-5 absolute, or else no further from a run in
float64 than three times eager's own distance, or that of eager on inputs one rounding away. The
largest error is the distance to eager, absolute, or relative to the largest value of its tensor
where that is above 1. Nothing is downloaded.

Written by `python -m benchmarks.models --docs docs/models.md …`; don't edit.
"""

BUILT = """A graph
with a kernel that can't be built would run by ATen whole, and show in the last column. The graphs
that ran were those that kernels are written from: operators spelt out in simpler ones, which round
otherwise.
"""


def page(rows: list[dict[str, Any]], target: str | None) -> str:
    """The whole page; columns on kernels only where kernels were built."""
    made = any(row.get("kernels") for row in rows)
    heads = ["family", "model", "one graph", "equal to eager", "largest error"]
    if made:
        heads += [f"kernels for {target}" if target else "kernels", "calls", "by ATen"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        equal, captured = row["outcome"] == "equal", row["outcome"] in ("equal", "mismatch")
        reason = " ".join(filter(None, (row.get("break_id"), row.get("reason"))))
        cells = [
            row["name"],
            ", ".join(filter(None, (row["package"], f"`{row['what']}`", row.get("note")))),
            "yes" if captured else f"no: {reason}".replace("|", "\\|"),
            "yes" if equal else (reason.replace("|", "\\|") if captured else "—"),
            f"{row.get('error', 0.0):.0e}" if equal else "—",
        ]
        if made:
            share = row["fallbacks"] / max(row["calls"], 1) if equal else 0.0
            aten = f"{share:.0%}" if equal else "—"
            cells += [str(row.get("kernels", "—")), str(row.get("calls", "—")), aten]
        lines.append(f"| {' | '.join(cells)} |")
    equal = sum(row["outcome"] == "equal" for row in rows)
    told = [f"\n**{equal} of {len(rows)}** families are one graph and equal to eager.\n"]
    if made:
        calls = sum(row.get("calls", 0) for row in rows)
        aten = sum(row.get("fallbacks", 0) for row in rows)
        told.append(f"{aten / max(calls, 1):.0%} of {calls:,} calls in all graphs run by ATen.\n")
    if target:
        told.append(f"Every kernel was built for {target} on a machine without a GPU. {BUILT}")
    return "\n".join([HEAD, *lines, *told])

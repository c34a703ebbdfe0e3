"""An optimizer step with gradient clipping and a learning rate that follows the update size."""

import torch

skipped = 0


def clip(gradients: list[torch.Tensor], limit: float):
    total = torch.stack([g.norm() for g in gradients]).norm()
    if total > limit:
        gradients = [g * (limit / (total + 1e-6)) for g in gradients]
    return gradients


def sane(gradients: list[torch.Tensor]):
    return all(torch.isfinite(g).all() for g in gradients)


@torch.compile(dynamic=False)
def update(
    weights: list[torch.Tensor],
    gradients: list[torch.Tensor],
    moments: list[torch.Tensor],
    step: int,
    rate: float = 1e-3,
):
    """One step of an Adam-like rule; skips the step when a gradient isn't finite."""
    global skipped
    if not sane(gradients):
        skipped += 1
        return weights
    gradients = clip(gradients, 1.0)
    out = []
    for weight, gradient, moment in zip(weights, gradients, moments):
        moment.lerp_(gradient, 0.1)
        corrected = moment / (1 - 0.9 ** (step + 1))
        trust = weight.norm() / corrected.norm()
        scale = rate * trust.item() if trust.isfinite() else rate
        out.append(weight - scale * corrected.sign())
    return out


def train(steps: int = 3):
    weights = [torch.randn(4, 4), torch.randn(4)]
    moments = [torch.zeros_like(w) for w in weights]
    for step in range(steps):
        gradients = [torch.randn_like(w) for w in weights]
        weights = update(weights, gradients, moments, step)
    return weights


def example_inputs():
    weights = [torch.randn(4, 4), torch.randn(4)]
    moments = [torch.zeros_like(w) for w in weights]
    return [(weights, [torch.randn_like(w) for w in weights], moments, 1)]


TARGET = "update"

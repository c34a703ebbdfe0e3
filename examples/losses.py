"""A detection loss with hard negative mining, and a triplet loss that skips easy triplets."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class HardNegativeLoss(nn.Module):
    """Cross entropy over the positives and the hardest few negatives of each batch."""

    def __init__(self, ratio: int = 3):
        super().__init__()
        self.ratio = ratio

    def forward(self, logits: torch.Tensor, labels: torch.Tensor):
        loss = F.cross_entropy(logits, labels, reduction="none")
        positive = labels > 0
        count = int(positive.sum())
        if count == 0:
            return loss.mean()
        hardest, _ = loss[~positive].sort(descending=True)
        hardest = hardest[: self.ratio * count]
        return (loss[positive].sum() + hardest.sum()) / max(count, 1)


class TripletLoss(nn.Module):
    def __init__(self, margin: float = 0.2):
        super().__init__()
        self.margin = margin
        self.history: list[float] = []

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor):
        distance = (anchor - positive).norm(dim=1) - (anchor - negative).norm(dim=1)
        active = distance > -self.margin
        assert active.any(), f"no active triplet, margin {self.margin}"
        self.history.append(float(distance.mean()))
        percentile = np.percentile(distance.detach().numpy(), 90)
        return F.relu(distance.clamp(max=float(percentile)) + self.margin)[active].mean()


def example_inputs():
    labels = torch.tensor([0, 2, 0, 1, 0, 0])
    return [(torch.randn(6, 3), labels), (torch.randn(6, 3), torch.zeros_like(labels))]


TARGET = "HardNegativeLoss"

"""Decoding with a toy language model: nucleus sampling, repetition penalty, early stop."""

import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class LanguageModel(nn.Module):
    def __init__(self, vocabulary: int = 50, dim: int = 16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.mix = nn.Linear(dim, dim)
        self.head = nn.Linear(dim, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(torch.tanh(self.mix(x.cumsum(1))))


def nucleus(logits, top_p: float):
    ordered, index = logits.sort(descending=True)
    cut = ordered.softmax(-1).cumsum(-1) > top_p
    cut[..., 1:] = cut[..., :-1].clone()
    cut[..., 0] = False
    return logits.masked_fill(cut.scatter(-1, index, cut), float("-inf"))


def penalise(logits, tokens, penalty: float):
    for row, seen in zip(logits, tokens):
        for token in seen.unique().tolist():
            row[token] = row[token] / penalty if row[token] > 0 else row[token] * penalty
    return logits


model = LanguageModel().eval()


@torch.no_grad()
def generate(prompt: torch.Tensor, steps: int = 8, top_p: float = 0.9, end: int = 0):
    tokens = prompt
    done = torch.zeros(prompt.shape[0], dtype=torch.bool)
    for step in range(steps):
        logits = penalise(model(tokens)[:, -1], tokens, 1.2)
        chosen = torch.multinomial(nucleus(logits, top_p).softmax(-1), 1)
        tokens = torch.cat([tokens, torch.where(done[:, None], end, chosen)], dim=1)
        done = done | (chosen[:, 0] == end)
        if done.all():
            log.info("all rows ended after %d steps", step)
            break
    return tokens


def example_inputs():
    return [(torch.randint(1, 50, (2, 5)),)]


TARGET = "generate"

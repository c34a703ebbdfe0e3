"""A part-of-speech tagger: embedding, packed LSTM, per-sentence Viterbi-style decoding."""

import warnings

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self, words: int = 100, tags: int = 5, dim: int = 16):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * dim, tags)
        self.transition = nn.Parameter(torch.zeros(tags, tags))

    def forward(self, words: torch.Tensor, lengths: torch.Tensor):
        if lengths.min() < 1:
            warnings.warn("empty sentence", stacklevel=2)
        packed = pack_padded_sequence(
            self.embed(words), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return [self.decode(row[:n]) for row, n in zip(self.emit(states), lengths.tolist())]

    def decode(self, scores):
        best, back = scores[0], []
        for emission in scores[1:]:
            candidate = best[:, None] + self.transition
            best, arg = candidate.max(dim=0)
            best = best + emission
            back.append(arg)
        tag = int(best.argmax())
        path = [tag]
        for arg in reversed(back):
            tag = int(arg[tag])
            path.append(tag)
        return path[::-1]


def example_inputs():
    return [(torch.randint(1, 100, (3, 7)), torch.tensor([7, 4, 2]))]


TARGET = "Tagger"

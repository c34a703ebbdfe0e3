"""Audio augmentation on the device: random gain, time masking, and adding noise at a given SNR."""

import random
import time

import numpy as np
import torch
from torch import nn


class Augment(nn.Module):
    def __init__(self, snr: float = 20.0, masks: int = 2, width: int = 40):
        super().__init__()
        self.snr, self.masks, self.width = snr, masks, width
        self.seconds = 0.0

    def forward(self, wave: torch.Tensor):
        start = time.perf_counter()
        if random.random() < 0.5:
            wave = wave * 10 ** (random.uniform(-6, 6) / 20)
        for _ in range(self.masks):
            begin = np.random.randint(0, wave.shape[-1] - self.width)
            wave = wave.clone()
            wave[..., begin : begin + self.width] = 0
        wave = self.add_noise(wave)
        try:
            wave = self.normalise(wave)
        except ZeroDivisionError:
            wave = torch.zeros_like(wave)
        self.seconds += time.perf_counter() - start
        return wave

    def add_noise(self, wave):
        noise = torch.randn_like(wave)
        ratio = (wave.norm() / noise.norm()).item() / 10 ** (self.snr / 20)
        return wave + noise * ratio

    def normalise(self, wave):
        peak = wave.abs().max()
        if peak == 0:
            raise ZeroDivisionError("silence")
        return wave / peak


def example_inputs():
    return [(torch.randn(2, 400),)]


TARGET = "Augment"

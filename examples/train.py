"""A training script that uses torch.compile in ways that cost more than they give."""

import time

import torch
import torch._dynamo
from torch import nn

torch._dynamo.config.suppress_errors = True


@torch.jit.script
def swish(x: torch.Tensor):
    return x * torch.sigmoid(x)


class Net(nn.Module):
    def __init__(self, dim: int = 16):
        super().__init__()
        self.first, self.second = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.second(swish(self.first(x)))


def step(model, x, y):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


def epoch(model, optimizer, batches):
    for x, y in batches:
        compiled = torch.compile(step, mode="reduce-overhead")
        compiled(model, x, y)
        optimizer.step()
        optimizer.zero_grad()


def speed(model, x):
    compiled = torch.compile(model.forward)
    start = time.perf_counter()
    for _ in range(10):
        compiled(x)
    return (time.perf_counter() - start) / 10


def main(path: str):
    model = Net()
    model = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters())
    batches = [(torch.randn(8, 16), torch.randn(8, 16)) for _ in range(4)]
    for _ in range(3):
        torch._dynamo.reset()
        epoch(model, optimizer, batches)
    print("seconds a call:", speed(model, batches[0][0]))
    torch.save(model.state_dict(), path)


if __name__ == "__main__":
    main("net.pt")

"""Trials and verdicts as JSON values, and the two ends of a pipe that carries them as lines."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from typing import Any

from ...rules.base.finding import Site
from .model import Status, Trial, Verdict


def encode_trial(trial: Trial) -> dict[str, Any]:
    """Return the trial as JSON values."""
    inputs = {key: str(value) for key, value in trial.inputs.items()}
    rest = {f.name: getattr(trial, f.name) for f in fields(Trial) if f.name != "sites"}
    sites = [asdict(site) for site in trial.sites]
    return {**rest, "inputs": inputs, "sites": sites}


def decode_trial(raw: dict[str, Any]) -> Trial:
    """Return the trial that `encode_trial` was given."""
    sites = tuple(
        Site(s["function"], s["line"], tuple((name, spec) for name, spec in s["parameters"]))
        for s in raw["sites"]
    )
    changed = tuple((first, last) for first, last in raw["changed"])
    return Trial(**{**raw, "sites": sites, "changed": changed, "entries": tuple(raw["entries"])})


def encode_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as JSON values."""
    return {**asdict(verdict), "status": verdict.status.value}


def decode_verdict(raw: dict[str, Any]) -> Verdict:
    """Return the verdict that `encode_verdict` was given."""
    known = {f.name for f in fields(Verdict)}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items() if k in known}
    return Verdict(**{**values, "status": Status(raw["status"])})


class Lines:
    """JSON values, a line each, read from a file descriptor that may also be polled."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._rest = b""

    def fill(self) -> bool:
        """Read what is there, waiting if nothing is; False at the end."""
        try:
            more = os.read(self.fd, 1 << 16)
        except OSError:
            more = b""
        self._rest += more
        return bool(more)

    def take(self) -> Any:
        """Return the next whole value, None when there is none yet."""
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return None
        self._rest = rest
        return json.loads(line)


def send(fd: int, value: Any) -> None:
    """Write a value as a line. Raises OSError when nobody reads."""
    data = memoryview(json.dumps(value).encode() + b"\n")
    while data:
        data = data[os.write(fd, data) :]

"""Fingerprints that reports carry, so that services can follow a finding from run to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from ...rules.base.finding import Finding


def fingerprints(findings: Sequence[Finding]) -> list[str]:
    """Return one hex digest a finding: of its file, code, region and message, not of its line.

    The nth of several equal ones counts its n in, so that all differ.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    digests = []
    for finding in findings:
        key = (finding.path, finding.cell, finding.code, finding.region, finding.message)
        text = "\0".join(map(str, (*key, seen[key])))
        seen[key] += 1
        digests.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return digests

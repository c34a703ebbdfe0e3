"""Model files of timm and transformers, fixed: their models must give what they gave before.

    python -m benchmarks.fix_models

Needs timm and transformers beside torch. Their packages are copied, and the files of ten models
are fixed in the copy as a user would: what the models are called with is recorded, then
`compile-lint --fix --recorded` keeps what it proves. Small models with random weights run before
and after, in training and in eval mode, with gradients; results must be equal.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = (
    "BART",
    "T5",
    "Whisper",
    "wav2vec 2.0",
    "Mixtral",
    "DeBERTa V2",
    "Mamba",
    "OPT",
    "Swin",
    "MobileViT",
)
# A torchvision whose extension doesn't fit this torch can't be imported: for all that runs.
SITE = """
import sys
sys.path.append({root!r})
from benchmarks.truth_harness.vision_ops import define_missing
sys.path.remove({root!r})
define_missing()
"""
# Runs in a process of its own, with the copies first on its path.
DRIVER = """
import json, sys, torch
from torch.utils._pytree import tree_leaves
sys.path.append(sys.argv[1])
from benchmarks.conformance import model_zoo

model_zoo._stand_ins = lambda: None  # sitecustomize has seen to it
zoo = model_zoo.zoo
files = {}
results = {}
for family in json.loads(sys.argv[3]):
    torch.manual_seed(0)
    model, inputs = zoo()[family].build()
    files[family] = sys.modules[type(model).__module__].__file__
    for training in (False, True):
        model.train(training)
        model.zero_grad()
        torch.manual_seed(1)
        args = [inputs[""]] if "" in inputs else []
        out = model(*args, **{k: v for k, v in inputs.items() if k})
        leaves = [t for t in tree_leaves(out if isinstance(out, torch.Tensor) else dict(out))
                  if isinstance(t, torch.Tensor)]
        total = sum(t.double().square().mean() for t in leaves if t.requires_grad)
        total.backward()
        grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        results[family, training] = [t.detach() for t in leaves], grads
torch.save((files, results), sys.argv[2])
"""


def main() -> int:
    """Copy, run, record, fix, run again, compare; print what was fixed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--timeout", type=float, default=120, help="seconds of one proof")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fix-models-") as place:
        folder = Path(place)
        for package in ("timm", "transformers"):
            found = importlib.util.find_spec(package)
            assert found is not None
            assert found.origin is not None
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(found.origin).parent, folder / package, ignore=ignore)
        (folder / "sitecustomize.py").write_text(SITE.format(root=str(ROOT)))
        before = _driven(folder, asked.families)
        files = sorted(set(before[0].values()))
        print(f"{len(files)} files: {', '.join(str(Path(f).name) for f in files)}", flush=True)
        wrapped = [sys.executable, "-m", "compile_lint.linter", "record", "-o", "inputs.json"]
        wrapped += [part for file in files for part in ("--path", file)]
        _driven(folder, asked.families, [*wrapped, "--"])
        fix = [sys.executable, "-m", "compile_lint.linter", "--fix", "--fix-only", "--show-fixes"]
        fix += ["--isolated", "--recorded", "inputs.json", "--prove-timeout", str(asked.timeout)]
        done = subprocess.run(
            [*fix, *files], cwd=folder, env=_environment(folder), capture_output=True, text=True
        )
        print((done.stdout + done.stderr).replace(place + "/", ""), flush=True)
        return _compared(before[1], _driven(folder, asked.families)[1])


def _environment(folder: Path) -> dict[str, str]:
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _driven(folder: Path, families: list[str], under: list[str] | None = None) -> tuple[dict, dict]:
    import torch

    script, results = folder / "drive_models.py", folder / "results.pt"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(ROOT), str(results), json.dumps(list(families))]
    subprocess.run([*(under or []), *command], cwd=folder, env=_environment(folder), check=True)
    return torch.load(results, weights_only=False)


def _compared(before: dict, after: dict) -> int:
    import torch

    bad = 0
    for key, want in before.items():
        try:
            torch.testing.assert_close(after[key], want, equal_nan=True)
        except AssertionError as error:
            bad += 1
            print(f"{key[0]}, {'training' if key[1] else 'eval'}: {error}")
    print(f"{len(before) - bad} of {len(before)} runs of {len(before) // 2} models are equal")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

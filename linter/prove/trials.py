"""Runs versions of the module on cases: the original, watched or not, and the rewrite."""

from __future__ import annotations

import ast
import builtins
import contextlib
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from .arms import Arms
from .calls import Outcome, call, seed_all, settled
from .capture import ModuleSettings, reset
from .control import plain
from .drives import Case, Drive
from .loading import LoadFailed, Project
from .model import Trial
from .mutate import change_state
from .values import Keeper, Kept, replace


@dataclass(frozen=True, slots=True)
class How:
    """How the calls of one input are made: with gradients asked for, of leaves or of results.

    part  of what: "" for every floating tensor given, else as `PARTS` says; weights always count
    mutable  the original's though it writes to what autograd has saved
    """

    gradients: bool = False
    nonleaf: bool = False
    part: str = ""
    mutable: bool = False


@dataclass(frozen=True, slots=True)
class Watched:
    """One watched run: the arms that ran, what was raised, and whether the program meant it."""

    reached: set[int]
    error: BaseException | None
    meant: bool


class Trials:
    """The texts of a trial, loaded on demand.

    Attributes:
        arms: Those of the changed lines.
        watched: The original, with recorders in its arms.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.project = Project(trial.path, trial.module, trial.root)
        self.arms = Arms(trial.before, trial.path, trial.changed)
        self.raises = _raise_lines(trial.before)
        self._first: dict[str, types.ModuleType] = {}
        self._weights: dict[str, dict[str, torch.Tensor]] = {}
        self._settings = ModuleSettings()
        self.watched = self._load_watched()
        self.plain = ""  # what it raises, where its control flow runs as plain Python instead

    def _load_watched(self) -> types.ModuleType:
        seed_all()
        with settled(), uncompiled():
            # The names exist before the module's own statements run: those may hold arms, too.
            for name in ("hit", "left", "test", "range"):
                setattr(builtins, f"__compile_lint_{name}__", getattr(self.arms, f"_{name}"))
            return self.project.load(self.trial.before, self.arms.code)

    def load(self, text: str) -> types.ModuleType:
        """Load a text anew; what can only be imported once is loaded once."""
        seed_all()
        self._settings.reset()
        try:
            with settled(), uncompiled():
                module = self.project.load(text)
        except LoadFailed:
            if text not in self._first:
                raise
            module = self._first[text]
            self.project.activate(module, text)
            self._settings.reset(text)
        self._first.setdefault(text, module)
        self._settings.keep(text)
        return module

    def watch(self, case: Case) -> Watched:
        """Run the original on a case, on a fresh target, and see which arms run."""
        self.project.activate(self.watched, self.trial.before)
        with uncompiled():
            target = case.drive.target(self.watched)
            args, kwargs = case.make(self.watched)
        if isinstance(target.owner, torch.nn.Module):
            self._sync(case.drive, target.owner)
            change_state(target.owner, case.changes)
        seed_all()
        self.arms.start()
        error: BaseException | None = None
        with settled(), self.around(self.watched, target.owner, case, original=True):
            try:
                target.fn(*args, **kwargs)
            except (Exception, SystemExit) as raised:
                error = raised
        return Watched(self.arms.reached(), error, error is not None and self._meant(error))

    def run(
        self,
        text: str,
        cases: Sequence[Case],
        hows: Sequence[How],
        *,
        training: bool | None = None,
        wrap: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
        each: Callable[[int, Outcome], bool] | None = None,
        device: str = "",
    ) -> list[Outcome]:
        """Call a version on cases in turn, on one target.

        Args:
            training: Put modules in this mode; None: as they are made.
            wrap: What compiles the target; None: it runs eagerly.
            each: Told every outcome; the calls end when it says False.
            device: Where weights and arguments are moved to; "": nowhere.
        """
        module = self.load(text)
        outcomes: list[Outcome] = []
        drive = cases[0].drive
        with uncompiled():
            target = drive.target(module)
        base: dict[int, tuple[torch.Tensor, Kept]] = {}
        if isinstance(target.owner, torch.nn.Module):
            self._sync(drive, target.owner)
            if device:
                target.owner.to(device)
            base = _base(target.owner)
            if training is not None:
                target.owner.train(training)
        if wrap is not None:
            reset()
        fn = wrap(target.fn) if wrap else target.fn
        for place, (case, how) in enumerate(zip(cases, hows)):
            with uncompiled():
                args, kwargs = case.make(module)
                if device:
                    args, kwargs = replace((args, kwargs), partial(_moved, device))
            put_back = _changed(target.owner, case)
            original = text == self.trial.before and wrap is None
            with self.around(module, target.owner, case, original):
                outcome = call(
                    fn,
                    args,
                    kwargs,
                    owner=target.owner,
                    module=module,
                    keeper=lambda base=base: Keeper(self.own, base),
                    gradients=how.gradients,
                    nonleaf=how.nonleaf,
                    part=how.part,
                    mutable=how.mutable and text == self.trial.before and wrap is None,
                )
            put_back()
            outcomes.append(outcome)
            if each is not None and not each(place, outcome):
                break
        return outcomes

    @contextlib.contextmanager
    def around(
        self, module: types.ModuleType, owner: Any, case: Case, original: bool
    ) -> Iterator[None]:
        """The surroundings of a call that a case asks for."""
        modes = {what for where, what, _ in case.changes if where == "mode"}
        with contextlib.ExitStack() as stack:
            if original and self.plain:
                stack.enter_context(plain(module))
            if "no_grad" in modes:
                stack.enter_context(torch.no_grad())
            if "inference" in modes:
                stack.enter_context(torch.inference_mode())
            if isinstance(owner, torch.nn.Module) and modes & {"train", "eval"}:
                training = owner.training
                owner.train("train" in modes)
                stack.callback(owner.train, training)
            yield

    def own(self, cls: type) -> bool:
        """Whether a class is the project's: defined in a package of the module on trial."""
        return cls.__module__.partition(".")[0] == self.project.name.partition(".")[0]

    def _sync(self, drive: Drive, owner: torch.nn.Module) -> None:
        """Give every instance the weights of the first: seeds don't make them equal."""
        tensors = _tensors_of(owner)
        first = self._weights.get(drive.name)
        with torch.no_grad():
            if first is None:
                for number, tensor in enumerate(tensors.values()):
                    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                        generator = torch.Generator().manual_seed(number)  # it was uninitialised
                        tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.1)
                self._weights[drive.name] = {k: t.detach().clone() for k, t in tensors.items()}
                return
            for name, tensor in tensors.items():
                known = first.get(name)
                if known is not None and known.shape == tensor.shape:
                    if known.dtype == tensor.dtype:
                        tensor.copy_(known)

    def _meant(self, error: BaseException) -> bool:
        """Whether the program raises it by a statement of its own."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is None or trace.tb_frame.f_code.co_filename != self.trial.path:
            return False
        return trace.tb_lineno in self.raises


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """torch.compile leaves things as they are: the project's own use of it, while that loads.

    Not meanwhile: torch.cond and torch.while_loop compile themselves when they run eagerly.
    """

    def compile(model: Any = None, **_: Any) -> Any:
        return (lambda fn: fn) if model is None else model

    def compile_module(self: Any, *_: Any, **__: Any) -> None:
        return None

    old, of_module = torch.compile, torch.nn.Module.compile
    torch.compile, torch.nn.Module.compile = compile, compile_module  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.compile, torch.nn.Module.compile = old, of_module


def _moved(device: str, _: str, leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return leaf.detach().to(device).requires_grad_(leaf.requires_grad)


def _changed(owner: Any, case: Case) -> Callable[[], None]:
    """Change the weights and flags as a case asks; what is returned puts them back."""
    asked = {where for where, _, _ in case.changes} & {"self", "flag"}
    if not isinstance(owner, torch.nn.Module) or not asked:
        return lambda: None
    old = {name: tensor.detach().clone() for name, tensor in _tensors_of(owner).items()}
    flags = {what: getattr(owner, what) for where, what, _ in case.changes if where == "flag"}
    change_state(owner, case.changes)

    def put_back() -> None:
        for name, flag in flags.items():
            setattr(owner, name, flag)
        with torch.no_grad():
            for name, tensor in _tensors_of(owner).items():
                if name in old and old[name].shape == tensor.shape:
                    if tensor.dtype == old[name].dtype:
                        tensor.copy_(old[name])
                    else:
                        tensor.data = old[name]

    return put_back


def _tensors_of(owner: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters, buffers and plain tensors in attributes, by name."""
    found: dict[str, torch.Tensor] = dict(owner.named_parameters())
    found.update(owner.named_buffers())
    for prefix, part in owner.named_modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                found[f"{prefix}.{name}"] = value
    lazy = torch.nn.parameter.is_lazy
    return {k: t for k, t in found.items() if not lazy(t) and not t.is_meta}


def _base(owner: torch.nn.Module) -> dict[int, tuple[torch.Tensor, Kept]]:
    keeper = Keeper()
    return {
        id(tensor): (tensor, keeper.tensor(tensor))
        for tensor in _tensors_of(owner).values()
        if tensor.grad is None and tensor.layout == torch.strided
    }


def _raise_lines(text: str) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Raise, ast.Assert)):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines

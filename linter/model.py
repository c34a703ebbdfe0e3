"""The values that pass between the linter's stages."""

from __future__ import annotations

from typing import Literal

from ..rules.base.finding import Finding
from ..rules.base.valueclass import valueclass

EntryMode = Literal["explicit", "auto", "all"]


@valueclass
class SourceFile:
    """A decoded source file.

    path      as the user named it (reports show it so)
    text      decoded, without BOM, newlines normalised to "\\n"
    encoding  codec to write it back with; `bom` and `newline` restore the rest
    digest    hex content hash of the bytes on disk
    cells     for notebooks: (first line in `text`, 1-based cell number) of every code cell
    """

    path: str
    text: str
    encoding: str
    bom: bool
    newline: str
    digest: str
    cells: tuple[tuple[int, int], ...] = ()


@valueclass
class AnalysisOptions:
    """The settings that change what the analysis finds or tells; part of every cache key.

    roots         source roots that absolute imports are looked up in, besides each file's own
    follow        top-level installed packages whose source is analysed as if part of the project
    entry_points  "package.module:qualified.name" of callables that are compiled elsewhere
    target_torch  torch minor version, such as "2.13"
    training      whether modules are compiled in training mode; what only the other mode runs into
                  is told as advice
    fixes         whether rules are asked for rewrites
    regions       whether results list the compiled regions
    dependencies  whether results say which other files they rest on
    """

    entry: EntryMode = "auto"
    entry_points: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()
    target_torch: str = ""
    training: bool = False
    fixes: bool = False
    regions: bool = True
    dependencies: bool = True


@valueclass
class Diagnostic:
    """Why a file could not be linted: one line, with a place where there is one."""

    path: str
    line: int | None
    message: str


@valueclass
class RegionReport:
    """A compiled region, for `--show-regions`.

    functions  (path, line, qualified name) of every function the region reaches, entry first
    """

    path: str
    line: int
    name: str
    reason: str
    options: str
    functions: tuple[tuple[str, int, str], ...]


@valueclass
class FileResult:
    """What analysing the entries of one file gave.

    findings      raw: not yet filtered by selection, suppression or baseline; they may lie in
                  other files, which a region of this file reaches
    dependencies  (path, digest) of every other file that was read; digest "" for a path that was
                  looked for and isn't there
    """

    path: str
    findings: tuple[Finding, ...] = ()
    regions: tuple[RegionReport, ...] = ()
    dependencies: tuple[tuple[str, str], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

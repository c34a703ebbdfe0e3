"""Pure functions from the outcome of a run to text."""

from __future__ import annotations

from collections.abc import Callable

from ..outcome import Outcome, summary


def render(
    outcome: Outcome, output_format: str, color: bool = False, with_summary: bool = True
) -> str:
    """Return the report of a run in one of `config.OUTPUT_FORMATS`, ready to be written.

    `color` and `with_summary` matter to the formats for people only.
    """
    if output_format in ("full", "concise"):
        if output_format == "full":
            from .full import render_full

            text = render_full(outcome, color)
        else:
            from .concise import render_concise

            text = render_concise(outcome)
        return f"{text}{summary(outcome)}\n" if with_summary else text
    return _for_machines(output_format)(outcome)


def _for_machines(output_format: str) -> Callable[[Outcome], str]:
    """Import what one format needs and no more."""
    if output_format == "json":
        from .json import render_json as found
    elif output_format == "sarif":
        from .sarif import render_sarif as found
    elif output_format == "github":
        from .github import render_github as found
    elif output_format == "gitlab":
        from .gitlab import render_gitlab as found
    elif output_format == "junit":
        from .junit import render_junit as found
    else:
        raise ValueError(f"unknown output format {output_format!r}")
    return found

"""Worker processes."""

from __future__ import annotations

import pytest
from compile_lint.linter.model import AnalysisOptions
from compile_lint.linter.pool import make_chunks
from compile_lint.linter.workers import Job

BAD = "if x: pass  # BREAK CL101\n"


def test_processes_give_what_one_gives(run, write):
    for number in range(30):
        write(f"p{number % 3}/m{number}.py", BAD * (number + 1))
    one = run("--jobs", "1", "--no-cache")
    two = run("--jobs", "2", "--no-cache")
    assert one == two
    assert one.lines()[-1].startswith("Found 465 findings")


@pytest.mark.parametrize("names", [["m3.py"], ["m0.py", "m11.py"]])
def test_a_process_that_dies_costs_its_file(run, write, names):
    for number in range(12):
        write(f"m{number}.py", BAD)
    for name in names:
        write(name, "# DIE\n")
    result = run("--jobs", "2", "--no-cache")
    assert result.code == 2
    assert result.err.splitlines() == [
        f"{name}: error: the analysis process died (out of memory?)" for name in sorted(names)
    ]
    assert f"in {12 - len(names)} files; 12 files checked" in result.out


def test_chunks_hold_every_job_once_large_ones_last():
    jobs = [Job(f"{i % 7}/{i}.py", AnalysisOptions(), 997 * i % 50_000) for i in range(300)]
    chunks = make_chunks(jobs, 4)
    assert sorted(job.path for chunk in chunks for job in chunk) == sorted(j.path for j in jobs)
    sizes = [sum(job.size for job in chunk) for chunk in chunks]
    assert sizes == sorted(sizes)
    assert len(chunks) > 8

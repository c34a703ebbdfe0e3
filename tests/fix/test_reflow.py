"""Lines that edits make too long are broken as `ruff format` breaks them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from compile_lint.linter.fix.edits import apply_fixes
from compile_lint.linter.layout import line_width
from compile_lint.rules.base.finding import Edit, Fix, Safety, Span
from compile_lint.rules.rewrites.formatting import Layout, one_line, statement_lines

STATEMENTS = """\
x = first_part_of_it(one_argument) + second_part(another_argument, a_third_argument)
x = first_part_of_it + second_part_of_it * third_part_of_it - fourth_part_of_the_sum_here
x = first if condition_of_it(argument) else other_value_of_it(argument, second_argument)
x = torch.where(mask[..., None], other_value, 0).sum() / (mask.sum() * value.shape[-1])
x = value.reshape(batch, heads, -1).transpose(1, 2).contiguous().view(batch, -1, width, 8)
x = value.reshape(batch, heads, -1).transpose(first_dimension, second_dimension_of_them)
x = a_name_that_is_long_by_itself.attribute_of_it.another_attribute.the_last_attribute_
x = 'a string that is so long that it does not fit beside the name it is given to here'
x = 'strings that stand side by side ' f'and {one} of them' ' is no plain one, as {it} says'
x = [element.attribute_of_it for element in collection_of_them if element.is_wanted(now)]
x = {key: value_of(key) for key in keys_of_the_dictionary if key not in those_that_are_known}
x = [first_element_of_the_list, second_element_of_the_list, third_element_of_the_list, 4]
x = {'first': value_of_the_first, 'second': value_of_the_second, 'third': value_of_third}
x = table[index_of_the_first_dimension, index_of_the_second_dimension, start:stop_of_it, :]
first_target, second_target = function_of_two_results(argument, another_argument, key=word)
first_target, second_target = value_of_the_first_one + 1, value_of_the_second_one_of_them + 1
function(first_argument, second_argument, key=lambda one, other: one.attribute < other.attribute)
function(element.attribute_of_it for element in collection_of_them if element.is_wanted_now)
function(argument, keyword_argument=first_part_of_it + second_part_of_it, other=a_default_value)
function(first_argument, second_argument,)
return first_result_of_the_function, second_result_of_the_function, third_result_of_it, [4]
return function_of_it(first_argument), another_function(second_argument, third_argument_, 4)
return not is_wanted(first_argument, second_argument) and (is_known(first) or is_known(second))
raise ValueError(f"a message that tells of {one} thing and of {another} thing, at some length")
assert is_as_it_should_be(first_argument, second_argument), "what went wrong is told by this"
assert first_thing == second_thing and third_thing == fourth_thing, f"{first_thing} is not the same"
if is_wanted(first_argument) and is_known(second_argument) or third_argument is not None_:
elif is_wanted(first_argument) and is_known(second_argument) or third_argument is not None_:
while distance(first_point, second_point) > tolerance_of_it and number_of_steps < the_limit:
for target, other in zip(function_of_it(first_argument), second_argument_, x):
with torch.autocast(device_type=hidden_states.device.type, dtype=hidden_states.dtype) as it:
total += weight_of_the_term * (first_part_of_it**2 + second_part_of_it**2) @ third_part
x = -function_of_one(argument) if isinstance(argument, torch.Tensor) else None if bad else é
x = (first_part_of_it or second_part_of_it)(argument, another_argument)[index_of_it].attribute
x = await something_that_takes(first_argument, second_argument, third_argument_of_the_call)
"""


def ruff(text: str, width: int) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(width)]
    command += ["--config", "format.quote-style='preserve'", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("width", [40, 56, 72, 88])
def test_statements_are_as_ruff_has_them(width: int) -> None:
    layout = Layout(width, "    ")
    ours, given = [], []
    for source in STATEMENTS.splitlines():
        head = "async def f():\n" + "    if 1:\n        pass\n" * source.startswith("elif")
        body = "        pass\n" * source.endswith(":")
        made = statement_lines(source, "    ", layout)
        assert made is not None
        ours.append(f"{head}{''.join(line + chr(10) for line in made)}{body}")
        given.append(f"{head}    {source}\n{body}")
    assert "\n\n".join(ours).split("\n\n\n") == ruff("\n\n".join(given), width).split("\n\n\n")


def test_one_line() -> None:
    assert one_line("f(\n    a,\n    [\n        1,\n    ],\n)") == "f(a, [1,],)"
    assert one_line("x = (\n    a\n    + b\n)") == "x = (a + b)"
    assert one_line("f(\n    a,  # why\n)") is None
    assert one_line('f("""a\nb""")') is None


def edited(text: str, line: int, new: str, last: int = 0) -> str:
    span = Span(line, 1, (last or line) + 1, 1)
    return apply_fixes(text, [Fix("", (Edit(span, new),), Safety.SAFE)])


def test_lines_that_get_too_long_are_broken() -> None:
    call = f"y = f({', '.join(['torch.cos(x)'] * 5)})"
    assert len(f"    {call}") < 88 < len(f"            {call}  # why")
    text = f"def f(x):\n    {call}  # why\n    return y\n"
    after = edited(text, 2, f"    if x:\n        if x:\n            {call}  # why\n")
    assert after == ruff(after, 88)
    assert after.count("\n") == text.count("\n") + 4


def test_lines_that_fit_are_joined_where_they_were_formatted() -> None:
    call = "call_of_it(first_argument, second_argument, third_argument, fourth_argum)"
    assert len(f"        y = {call}") == 85
    inner = f"            y = {call[:11]}\n                {call[11:-1]}\n            )\n"
    text = f"def f(x):\n    if x:\n        if x:\n{inner}    return y\n"
    assert text == ruff(text, 88)
    moved = inner.replace("\n        ", "\n    ")[4:]
    after = edited(text, 3, moved, 6)
    assert after == f"def f(x):\n    if x:\n        y = {call}\n    return y\n" == ruff(after, 88)
    loose = text.replace(" call_of_it(\n", " call_of_it(\n\n")
    assert "(\n\n" in edited(loose, 3, moved.replace("(\n", "(\n\n"), 7)


def test_width_is_configured(tmp_path) -> None:
    path = str(tmp_path / "module.py")
    (tmp_path / ".git").mkdir()
    assert line_width("x = 1\n", path) == 88
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    assert line_width("x = 1\n", str(tmp_path / "pkg" / "module.py")) == 100

"""What a command does not take is refused, with what it would take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatbridge.commands.arguments.argv import argv_of
from chatbridge.commands.definitions.definition import Command
from chatbridge.core.errors import ToolInputError
from tests.fakes.made_commands import made

HERE = Path("/project")


def own(command: Command, **given: Any) -> list[str]:
    """What comes after `tool run`."""
    return list(argv_of(command, given, project=HERE)[2:])


def refusal(command: Command, **given: Any) -> str:
    with pytest.raises(ToolInputError) as refused:
        argv_of(command, given, project=HERE)
    return str(refused.value)


def option(kind: str = "string", name: str = "it", **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **fields}


STRING, WHOLE, NUMBER = "a string", "a whole number", "a number"
NO_DASH, NOT_EMPTY = "a value that does not begin with -", "a value that is not empty"
NO_NUL, NO_SURROGATES = "text without NUL characters", "text without lone surrogates"
MATCHING = "text of which the whole matches"
BYTES = "at most 100,000 bytes"
INTEGERS = {"type": "integer"}
CASES: list[tuple[dict[str, Any], Any, str, str]] = [
    (option("boolean"), 1, "it", "true or false"),
    (option("boolean"), "true", "it", "true or false"),
    (option(), 1, "it", STRING),
    (option(), None, "it", f"{STRING}, or nothing: leave its name out"),
    (option("integer"), True, "it", WHOLE),
    (option("integer"), 1.5, "it", WHOLE),
    (option("integer"), "1", "it", WHOLE),
    (option("integer"), 10**5000, "it", "a number of at most 300 digits"),
    (option("number"), float("nan"), "it", NUMBER),
    (option("number"), float("inf"), "it", NUMBER),
    (option("number"), False, "it", NUMBER),
    (option("array"), "a", "it", "an array"),
    (option("array"), [1], "it[0]", STRING),
    (option("array"), ["a", None], "it[1]", f"{STRING}, or nothing: leave its name out"),
    (option("array", items=INTEGERS), [1, "2"], "it[1]", WHOLE),
    (option("array", minItems=1), [], "it", "items: at least 1; it has 0"),
    (option("array", maxItems=1), ["a", "b"], "it", "items: at most 1; it has 2"),
    (option("array", items={"enum": ["a"]}), ["b"], "it[0]", "one of 'a'"),
    (option("array", enum=["a"]), ["b"], "it[0]", "one of 'a'"),
    (option("array", join=","), ["a,b"], "it[0]", "a value without ',', which parts the items"),
    (option("object"), {"a": None}, "it.a", "a string, a number, true or false"),
    (option("object"), {"a": []}, "it.a", "a string, a number, true or false"),
    (option("object"), {"a=b": "c"}, "it.a=b", "a key that is not empty and has no = in it"),
    (option("object"), {"": "c"}, "it.", "a key that is not empty and has no = in it"),
    (option("object"), {"\0": "a"}, "it.⟨U+0000⟩", NO_NUL),
    (option("object", style="separate"), {"-a": "c"}, "it.-a", NO_DASH),
    (option(enum=["a", "b"]), "c", "it", "one of 'a', 'b'"),
    (option("integer", enum=[1, 2]), 3, "it", "one of 1, 2"),
    (option(pattern="v[0-9]+"), "xv1", "it", f"{MATCHING} v[0-9]+"),
    (option(pattern="v[0-9]+"), "v1\n", "it", f"{MATCHING} v[0-9]+"),
    (option(pattern="a|b"), "ab", "it", f"{MATCHING} a|b"),
    (option(pattern=r"\d"), "٣", "it", rf"{MATCHING} \d"),
    (option(minLength=2), "a", "it", "characters: at least 2; it has 1"),
    (option(maxLength=3), "abcd", "it", "characters: at most 3; it has 4"),
    (option("integer", minimum=1), 0, "it", "a number: at least 1"),
    (option("number", minimum=0, maximum=0.5), 1, "it", "a number: at least 0 and at most 0.5"),
    (option(), "a\0b", "it", NO_NUL),
    (option(), "\ud800", "it", NO_SURROGATES),
    (option(), "\udc80", "it", NO_SURROGATES),
    (option(), "é" * 50_001, "it", BYTES),
    (option("array", join=","), ["a" * 60_000] * 2, "one argument", BYTES),
    (option("array"), ["a" * 90_000] * 12, "the whole command", "at most 1,000,000 bytes in all"),
    (option("array"), [""] * 75_000, "the whole command", "at most 1,000,000 bytes in all"),
    (option(flag="-m"), "", "it", NOT_EMPTY),
    (option(style="separate"), "-x", "it", NO_DASH),
    (option("integer", style="separate"), -1, "it", NO_DASH),
    (option(positional=True), "", "it", NOT_EMPTY),
    (option("array", positional=True), ["a", ""], "it[1]", NOT_EMPTY),
]


@pytest.mark.parametrize(("fields", "value", "where", "accepted"), CASES, ids=range(len(CASES)))
def test_a_value_is_refused_with_what_would_be_taken(
    fields: dict[str, Any], value: Any, where: str, accepted: str
) -> None:
    first, second = refusal(made(fields), it=value).split("\n")
    assert first.startswith("Validation error: ")
    assert second.startswith(f"{where}: given ")
    assert second.endswith(f"; accepted: {accepted}")
    assert len(second) < 600


def test_a_refusal_says_where_what_was_given_and_what_is_accepted() -> None:
    text = refusal(made(option("array", items=INTEGERS)), it=[1, "two"])
    assert text == (
        "Validation error: it[1] is not valid\nit[1]: given 'two'; accepted: a whole number"
    )
    assert "it: given 100,002 bytes" in refusal(made(option()), it="é" * 50_001)


def test_without_a_separator_a_dash_at_the_beginning_is_refused_and_elsewhere_taken() -> None:
    command = made(option("array", positional=True), separator=None)
    assert own(command, it=["a-b", "a --force"]) == ["a-b", "a --force"]
    assert refusal(command, it=["a", "-"]).endswith("accepted: a value that does not begin with -")


def test_a_missing_and_an_unknown_argument_are_named() -> None:
    command = made(option(name="message", required=True, description="What it says"))
    assert refusal(command) == (
        "Validation error: message is required\nmessage: given None; accepted: What it says"
    )
    assert refusal(command, mesage="x") == (
        "Validation error: there is no argument mesage; did you mean message?\n"
        "mesage: given 'mesage'; accepted: message"
    )
    assert "did you mean" not in refusal(command, other="x")
    assert refusal(made(), x=1).endswith("accepted: no argument at all")


def test_a_name_cannot_forge_a_line_of_the_refusal() -> None:
    text = refusal(made(option()), **{"x\nValidation error: it is fine": 1})
    assert len(text.splitlines()) == 2


def test_a_positional_value_without_the_one_before_it_is_refused_as_it_would_take_its_place() -> (
    None
):
    command = made(option(name="source", positional=True), option(name="target", positional=True))
    assert refusal(command, target="b").startswith("Validation error: target needs source as well")
    assert own(command, source="a") == ["--", "a"]


def test_the_working_directory_is_no_argument_of_the_command() -> None:
    assert own(made(workingDirectory="argument"), working_directory="sub") == []
    assert "there is no argument working_directory" in refusal(made(), working_directory="sub")


def test_no_text_makes_a_pattern_take_for_ever() -> None:
    command = made(option(pattern="(a*)*b"))
    assert f"{MATCHING} (a*)*b" in refusal(command, it="a" * 90_000)  # 25 are too many for Python

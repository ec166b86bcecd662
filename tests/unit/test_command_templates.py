"""Command templates: what hints mean, how commands come out, what is refused."""

from __future__ import annotations

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model.errors import InvalidInput
from acai.provisioning.hints import Kind, Template, parse_template

PAPER = "python train.py --epoch {1,2,5} --batch-size {256,1024} --learning-rate 0.001"


def test_the_papers_own_template() -> None:
    template = parse_template(PAPER)
    assert template.names == ("epoch", "batch_size")
    assert template.parameters[0].values == (1.0, 2.0, 5.0)
    assert len(template.combinations()) == 6
    assert template.render([100, 256]) == (
        "python train.py --epoch 100 --batch-size 256 --learning-rate 0.001"
    )
    assert template.render({"epoch": 3, "batch-size": 0.5}).split()[3:6] == [
        "3",
        "--batch-size",
        "0.5",
    ]


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        ("{1..4}", (1, 2, 3, 4)),
        ("{1..10}", (1, 2, 5, 10)),
        ("{1..10..3}", (1, 4, 7, 10)),
        ("{0..1/3}", (0, 1)),
        ("{16..256/3}", (16, 64, 256)),
        ("{0.5..2/3}", (0.5, 1, 2)),
        ("{-1..1..0.5}", (-1, -0.5, 0, 0.5, 1)),
        ("{7}", (7,)),
        ("{ 1 , 2e3 }", (1, 2000)),
    ],
)
def test_numbers_and_ranges(hint: str, values: tuple[float, ...]) -> None:
    assert parse_template(f"run --n {hint}").parameters[0].values == pytest.approx(values)


def test_choices_names_and_places() -> None:
    template = parse_template("run {1,2} --opt={adam|sgd} {lr: 0.1,0.01} {7,8} > {where}-{lr}.txt")
    assert template.names == ("arg1", "opt", "lr", "arg4")
    assert template.parameters[1].kind is Kind.CHOICE
    assert template.arguments == ("where",)
    assert template.render([1, "sgd", 0.01, 9], {"where": "a b"}) == (
        "run 1 --opt=sgd 0.01 9 > 'a b'-0.01.txt"
    )
    assert template.bind({"arg1": "3", "opt": "adam", "lr": 1, "arg4": 2, "where": "x"}) == {
        "arg1": 3.0,
        "opt": "adam",
        "lr": 1.0,
        "arg4": 2.0,
    }


def test_doubled_braces_are_braces() -> None:
    template = parse_template("awk '{{print $1}}' --n {1,2}")
    assert template.render([1]) == "awk '{print $1}' --n 1"
    assert parse_template(template.text()) == template


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("", "empty"),
        ("run --n {}", "hint for n is empty"),
        ("run --n {epochs: }", "hint for epochs is empty"),
        ("run --n {1,,2}", "empty value"),
        ("run --n {adam,sgd}", "'adam'.*adam\\|sgd"),
        ("run --n {1,nan}", "'nan'"),
        ("run --n {a||b}", "empty choice"),
        ("run --n {1,2", "character 9.*not closed"),
        ("run --n {1,{2}", "not closed"),
        ("run --n 1}", "closes nothing"),
        ("run --n {5..1}", "must rise"),
        ("run --n {1..9..0}", "step"),
        ("run --n {1..9/1}", "2 to 1000"),
        ("run --n {0..1e9..1}", "widen"),
        ("run --n {1,1}", "1 twice"),
        ("run --n {1,2} --n {3,4}", "two hints are called n"),
        ("run {n: 1} {n: 2}", "two hints are called n"),
    ],
)
def test_a_faulty_template_is_refused_by_name(command: str, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        parse_template(command)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([1], "1 values.*takes 2: epoch, batch_size"),
        ([1, "many"], "batch_size is a number, not 'many'"),
        ({"epoch": 1}, "no value for batch_size"),
        ({"epoch": 1, "batch_size": 2, "lr": 3}, "no parameter 'lr'"),
        ([1, float("inf")], "batch_size is a number"),
    ],
)
def test_faulty_values_are_refused_by_name(
    values: list[object] | dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        parse_template(PAPER).bind(values)


def test_a_choice_is_one_of_its_words_and_an_argument_must_be_given() -> None:
    template = parse_template("run --opt {adam|sgd} --to {where}")
    with pytest.raises(InvalidInput, match="opt is one of adam, sgd, not 'lion'"):
        template.render(["lion"])
    with pytest.raises(InvalidInput, match="argument where"):
        template.render(["sgd"])


NUMBERS = st.lists(
    st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=5, unique=True
)
WORDS = st.lists(
    st.text(string.ascii_letters + string.digits + "._/:-", min_size=1, max_size=8),
    min_size=2,
    max_size=4,
    unique=True,
)
LITERAL = st.text(string.ascii_letters + " =-'${}\"", max_size=12)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    command = "run"
    for place in range(draw(st.integers(0, 4))):
        literal = draw(LITERAL).replace("{", "{{").replace("}", "}}")
        if draw(st.booleans()):
            body = ",".join(map(repr, draw(NUMBERS)))
        else:
            body = "|".join(draw(WORDS))
        command += f"{literal} {{p{place}: {body}}}"
    return parse_template(command + draw(LITERAL).replace("{", "{{").replace("}", "}}"))


@given(templates())
def test_a_template_survives_being_spelled_and_parsed(template: Template) -> None:
    assert parse_template(template.text()) == template


@given(templates(), st.data())
def test_a_rendered_command_holds_its_values_in_their_places(
    template: Template, data: st.DataObject
) -> None:
    values = data.draw(st.sampled_from(template.combinations()))
    command = template.render(values)
    assert command == template.render(list(values.values()))
    place = 0
    for piece in template.pieces:
        if piece.name is None:
            shown = piece.literal
        else:
            value = values[piece.name]
            shown = shlex.quote(value if isinstance(value, str) else _plain(value))
        assert command[place : place + len(shown)] == shown
        place += len(shown)
    assert place == len(command)


def _plain(value: float) -> str:
    """As a person writes it; the shell and the program must read the same number."""
    text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    assert float(text) == value
    return text

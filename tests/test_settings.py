from typing import Any

import pytest

from casegraph.errors import InvalidArgument
from casegraph.settings import PAPER, Settings, check_count

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_length": 0}, "max_length is 0; expected from 1 to 5"),
    ({"max_length": 6}, "max_length is 6; expected from 1 to 5"),
    ({"max_length": "3"}, "max_length is '3'; expected a whole number from 1 to 5"),
    ({"max_length": True}, "max_length is True; expected a whole number from 1 to 5"),
    ({"max_length": 3.0}, "max_length is 3.0; expected a whole number from 1 to 5"),
    ({"neighbours": 0}, "neighbours is 0; expected at least 1"),
    ({"path_types": 0}, "path_types is 0; expected at least 1"),
    ({"path_types": 2**31}, "path_types is 2147483648; expected from 1 to 2147483647"),
    ({"neighbours": 1.5}, "neighbours is 1.5; expected a whole number at least 1"),
    ({"support": 0}, "support is 0; expected at least 1"),
    ({"counting": 1.5}, "counting is 1.5; expected a whole number at least 1"),
    ({"counting": True}, "counting is True; expected a whole number at least 1"),
    (
        {"budget": 2**70},
        "budget is 1180591620717411303424; expected from 1 to 9223372036854775807",
    ),
    ({"budget": None}, "budget is None; expected a whole number at least 1"),
    ({"support": float("nan")}, "support is nan; expected a whole number at least 1"),
    ({"sampled_walks": 0}, "sampled_walks is 0; expected at least 1"),
    (
        {"sampled_walks": 1.5},
        "sampled_walks is 1.5; expected a whole number at least 1",
    ),
    ({"sampling_seed": -1}, "sampling_seed is -1; expected at least 0"),
    ({"doubt": 0}, "doubt is 0; expected at least 0.001"),
    ({"doubt": 0.0009}, "doubt is 0.0009; expected at least 0.001"),
    ({"doubt": float("nan")}, "doubt is nan; expected at least 0.001"),
    ({"doubt": float("inf")}, "doubt is inf; expected at least 0.001"),
    ({"doubt": "5"}, "doubt is '5'; expected at least 0.001"),
    ({"doubt": True}, "doubt is True; expected at least 0.001"),
    ({"loop_free": 1}, "loop_free is 1; expected True or False"),
    ({"fallback": None}, "fallback is None; expected True or False"),
    (
        {"weight": ["right"]},
        "weight is ['right']; expected one of right, prior, frequency",
    ),
    ({"discount": 1.1}, "discount is 1.1; expected from 0 to 1"),
    ({"discount": -1}, "discount is -1; expected from 0 to 1"),
    ({"ridge": 0}, "ridge is 0; expected at least 0.001"),
    ({"ridge": float("nan")}, "ridge is nan; expected at least 0.001"),
    ({"precedent_weight": -1}, "precedent_weight is -1; expected from 0 to 1000"),
    ({"precedent_weight": 1001}, "precedent_weight is 1001; expected from 0 to 1000"),
    ({"nearest": 0}, "nearest is 0; expected from 1 to 4096"),
    ({"nearest": 4097}, "nearest is 4097; expected from 1 to 4096"),
    ({"nearest": 2.5}, "nearest is 2.5; expected a whole number from 1 to 4096"),
    ({"decisive": 2}, "decisive is 2; expected from 0 to 1"),
    ({"best": 9}, "best is 9; expected from 1 to 8"),
    ({"habit": -0.1}, "habit is -0.1; expected from 0 to 1"),
    ({"threshold": 1.5}, "threshold is 1.5; expected from -1 to 1"),
    ({"weight": "luck"}, "weight is 'luck'; expected one of right, prior, frequency"),
    ({"combination": "max"}, "combination is 'max'; expected one of noisy-or, sum"),
    (
        {"clustering": "none"},
        "clustering is 'none'; expected one of hac, grinch, entity, everyone",
    ),
    (
        {"weight": "frequency"},
        "neighbours is None; expected a number, "
        "since frequency is counted among the contextual entities",
    ),
]


@pytest.mark.parametrize(
    ("values", "message"), REFUSED, ids=[message for _, message in REFUSED]
)
def test_a_setting_out_of_its_range_is_refused_with_the_range(
    values: dict[str, Any], message: str
) -> None:
    for make in (Settings, Settings().but):
        with pytest.raises(InvalidArgument) as raised:
            make(**values)
        assert str(raised.value) == message


def test_settings_on_the_edge_of_their_range_are_allowed() -> None:
    assert (
        Settings(
            doubt=0.001, discount=0, habit=1, threshold=-1, best=8, max_length=5
        ).doubt
        == 0.001
    )
    assert Settings(weight="frequency", neighbours=1).neighbours == 1
    assert Settings(ridge=0.001, precedent_weight=0, nearest=1).nearest == 1
    assert Settings(precedent_weight=1000, nearest=4096).nearest == 4096
    assert (
        Settings(budget=2**63 - 1, counting=2**63 - 1, path_types=2**31 - 1).budget
        == 2**63 - 1
    )


def test_a_count_is_a_whole_number_that_64_bits_hold() -> None:
    check_count("top", -1, -1)
    check_count("top", 2**63 - 1, -1)
    for value, message in (
        (-2, "top is -2; expected at least -1"),
        (2**63, "top is 9223372036854775808; expected from -1 to 9223372036854775807"),
        ("3", "top is '3'; expected a whole number at least -1"),
    ):
        with pytest.raises(InvalidArgument) as raised:
            check_count("top", value, -1)  # type: ignore[arg-type]
        assert str(raised.value) == message


def test_the_defaults_are_those_that_were_chosen_over_all_graphs() -> None:
    settings = Settings()
    assert (settings.discount, settings.decisive, settings.best) == (0.1, 0.77, 5)
    assert (settings.ridge, settings.precedent_weight, settings.nearest) == (
        30,
        4,
        1024,
    )


@pytest.mark.parametrize("dataset", sorted(PAPER))
def test_settings_make_themselves_again_from_plain_values(dataset: str) -> None:
    for settings in (Settings(), Settings.paper(dataset), Settings.cbr(dataset)):
        assert Settings(**settings.as_dict()) == settings


def test_settings_of_a_data_set_that_the_paper_does_not_have_are_refused() -> None:
    with pytest.raises(
        InvalidArgument,
        match=r"dataset is 'FB15k'; expected one of FB122, NELL-995, WN18RR",
    ):
        Settings.paper("FB15k")

import json
import random
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import oracle
from tests.strategies import Fact, random_fact
from tests.test_datasets import DATA, needs_data

from casegraph import CaseBase, Settings
from casegraph.errors import InvalidArgument, NotABenchmark, UnknownName
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import Evaluation, Sides, evaluate

Facts = list[Fact]
MRR = "both.realistic.inverse_harmonic_mean_rank"
EAGER = Settings(support=1)
SETTINGS = [
    Settings(),
    EAGER,
    Settings(support=1, max_length=2, combination="sum", precedents=False),
    Settings.paper("WN18RR").but(max_length=2, neighbours=2, path_types=5),
    Settings.cbr("WN18RR").but(max_length=2, neighbours=2, path_types=5),
]


def written(folder: Path, **splits: Iterable[Fact]) -> Benchmark:
    for split, facts in splits.items():
        lines = ["\t".join(fact) + "\n" for fact in facts]
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    return Benchmark.open(folder)


def ranked(
    evaluation: Evaluation,
) -> dict[tuple[Fact, bool], tuple[float, float, float]]:
    """(optimistic, realistic, pessimistic) of each fact and side."""
    asked = evaluation.questions
    found = evaluation.ranks
    ranks = {}
    for row, is_head in enumerate(asked.is_head.tolist()):
        head, relation, tail = asked.fact(row)
        three = (found.optimistic[row], found.realistic[row], found.pessimistic[row])
        ranks[(head, relation, tail), is_head] = three
    return ranks


def test_an_answer_that_one_path_leads_to_ranks_first(tmp_path: Path) -> None:
    train = [
        ("ann", "lives in", "rome"),
        ("rome", "city of", "italy"),
        ("ann", "citizen of", "italy"),
        ("bob", "lives in", "rome"),
    ]
    benchmark = written(tmp_path, train=train, test=[("bob", "citizen of", "italy")])
    evaluation = evaluate(benchmark, EAGER)
    assert set(ranked(evaluation).values()) == {(1, 1, 1)}
    assert evaluation.metrics[MRR] == evaluation.metrics["both.original.hits_at_1"] == 1


UNSEEN: dict[str, Facts] = {
    "train": [("a", "r", "b"), ("c", "s", "d")],
    "test": [("c", "r", "new")],
}


def test_an_entity_never_seen_ranks_in_the_middle_of_the_unreached(
    tmp_path: Path,
) -> None:
    found = ranked(evaluate(written(tmp_path, **UNSEEN), EAGER))
    assert found[("c", "r", "new"), False] == (
        2,
        3.5,
        5,
    )  # of the five entities, only b is reached
    # From an entity never seen, only what others answer is reached: a.
    assert found[("c", "r", "new"), True] == (2, 3.5, 5)


def test_of_an_entity_never_seen_the_usual_answers_are_expected(tmp_path: Path) -> None:
    train = [(f"person {number}", "citizen of", "italy") for number in range(3)]
    train += [("person 3", "citizen of", "france")]
    benchmark = written(tmp_path, train=train, test=[("new", "citizen of", "italy")])
    found = ranked(evaluate(benchmark, EAGER))
    assert found[("new", "citizen of", "italy"), False] == (1, 1, 1)


def test_answers_of_other_splits_are_passed_over(tmp_path: Path) -> None:
    found = ranked(
        evaluate(written(tmp_path, **UNSEEN, valid=[("c", "r", "b")]), EAGER)
    )
    assert found[("c", "r", "new"), False] == (1, 2.5, 4)


def test_a_relation_never_seen_reaches_nothing(tmp_path: Path) -> None:
    benchmark = written(
        tmp_path, train=[("a", "r", "b")], test=[("a", "other", "b"), ("b", "r", "a")]
    )
    evaluation = evaluate(benchmark, EAGER)
    assert ranked(evaluation)[("a", "other", "b"), False] == (1, 1.5, 2)
    assert evaluation.by_relation["other"]["both.original.hits_at_10"] == 0


def test_the_graph_is_answered_from_and_the_full_graph_only_passed_over(
    tmp_path: Path,
) -> None:
    graph = [("a", "r", "b"), ("c", "s", "d")]
    benchmark = written(
        tmp_path,
        graph=graph,
        full_graph=[*graph, ("c", "r", "b")],
        test=[("c", "r", "d")],
    )
    evaluation = evaluate(benchmark, EAGER, sides="tail")
    assert evaluation.graph == "graph"
    assert evaluation.facts == 2
    assert ranked(evaluation)[("c", "r", "d"), False] == (1, 2, 3)


def test_the_graph_may_be_another_split_or_a_file(tmp_path: Path) -> None:
    benchmark = written(
        tmp_path,
        train=[("a", "r", "b")],
        valid=[("a", "r", "c"), ("a", "r", "d")],
        test=[("b", "r", "a")],
    )
    file = tmp_path / "more.tsv"
    file.write_text("a\tr\tb\nx\tr\ty\nx\tr\tz\n", encoding="utf-8")
    assert evaluate(benchmark, EAGER).facts == 1
    assert evaluate(benchmark, EAGER, graph_split="valid").facts == 2
    of_file = evaluate(benchmark, EAGER, graph_split=file)
    assert of_file.facts == 3
    assert len(of_file.questions.entities) == 7


def test_queries_that_differ_in_their_target_only_are_asked_once(
    tmp_path: Path,
) -> None:
    benchmark = written(
        tmp_path,
        train=[("a", "r", "b"), ("b", "s", "c")],
        test=[("a", "r", "c"), ("a", "r", "a")] * 2,
    )
    evaluation = evaluate(benchmark, EAGER)
    assert len(evaluation.questions) == 4
    assert evaluation.questions.distinct == 3
    assert len(ranked(evaluation)) == 4


@pytest.mark.parametrize(
    ("sides", "expected"),
    [("both", [False, True]), ("head", [True]), ("tail", [False])],
)
def test_only_the_sides_chosen_are_asked(
    tmp_path: Path, sides: Sides, expected: list[bool]
) -> None:
    evaluation = evaluate(written(tmp_path, **UNSEEN), EAGER, sides=sides)
    assert evaluation.questions.is_head.tolist() == expected
    whole = ranked(evaluate(written(tmp_path, **UNSEEN), EAGER))
    assert ranked(evaluation) == {
        key: value for key, value in whole.items() if key[1] in expected
    }


def test_a_limit_asks_for_facts_from_the_whole_split_and_ranks_them_alike(
    tmp_path: Path,
) -> None:
    facts = random_facts(seed=3, number=60)
    benchmark = written(tmp_path, train=facts[:40], test=facts[40:])
    whole = ranked(evaluate(benchmark, EAGER))
    part = ranked(evaluate(benchmark, EAGER, limit=5))
    assert len(part) == 10
    assert part.items() <= whole.items()
    assert len({fact[1] for fact, _ in part}) == 3
    assert ranked(evaluate(benchmark, EAGER, limit=1000)) == whole


def test_an_evaluation_says_what_was_done_as_plain_values(tmp_path: Path) -> None:
    evaluation = evaluate(written(tmp_path, **UNSEEN), EAGER)
    values = json.loads(
        json.dumps(evaluation.as_dict(by_relation=True), allow_nan=False)
    )
    assert values["metrics"] == values["by_relation"]["r"] == evaluation.metrics
    assert values["settings"] == EAGER.as_dict()
    assert list(values["phases"]) == ["read", "build", "count", "rank"]
    for phase in values["phases"].values():
        assert phase["seconds"] >= 0
        assert phase["peak_memory"] >= 0
    expected = {
        "split": "test",
        "graph": "train",
        "sides": "both",
        "facts": 2,
        "entities": 5,
        "queries": 2,
    }
    assert values.items() >= expected.items()
    assert values["benchmark"] == tmp_path.name
    assert values["queries_per_second"] > 0
    assert "by_relation" not in evaluation.as_dict()


def test_metrics_of_relations_average_to_those_of_all(tmp_path: Path) -> None:
    facts = random_facts(seed=5, number=60)
    evaluation = evaluate(written(tmp_path, train=facts[:40], test=facts[40:]), EAGER)
    asked = [
        evaluation.questions.fact(row).relation
        for row in range(len(evaluation.questions))
    ]
    assert sorted(set(asked)) == list(evaluation.by_relation)
    mean = np.mean([evaluation.by_relation[relation][MRR] for relation in asked])
    assert mean == pytest.approx(evaluation.metrics[MRR], abs=1e-12)


def test_progress_is_shown_to_its_end(tmp_path: Path) -> None:
    last: dict[str, tuple[int, int]] = {}

    def show(doing: str, done: int, total: int) -> None:
        last[doing] = (done, total)

    evaluate(written(tmp_path, **UNSEEN), EAGER, show=show)
    assert last["reading facts"] == last["ranking answers"] == (2, 2)
    assert all(done == total for done, total in last.values())


def test_a_split_that_is_not_there_or_empty_is_no_benchmark(tmp_path: Path) -> None:
    benchmark = written(tmp_path, train=[("a", "r", "b")], valid=[])
    with pytest.raises(
        NotABenchmark,
        match="expected a file for the split 'test', found only train, valid",
    ):
        evaluate(benchmark, EAGER)
    with pytest.raises(
        NotABenchmark, match="expected facts in the split 'valid', found none"
    ):
        evaluate(benchmark, EAGER, split="valid")


def test_sides_and_limits_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    benchmark = written(tmp_path, **UNSEEN)
    with pytest.raises(InvalidArgument, match="'all'"):
        evaluate(benchmark, EAGER, sides="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="limit is 0"):
        evaluate(benchmark, EAGER, limit=0)


names = st.sampled_from("abcdef")
seen = st.tuples(names, st.sampled_from("rs"), names)
maybe_unseen = st.tuples(
    st.sampled_from("abcdefx"), st.sampled_from("rsu"), st.sampled_from("abcdefxy")
)


@settings(max_examples=60)
@given(
    st.lists(seen, min_size=1, max_size=14),
    st.lists(maybe_unseen, max_size=3),
    st.lists(maybe_unseen, min_size=1, max_size=4),
    st.sampled_from(SETTINGS),
)
def test_ranks_agree_with_asking_for_all_candidates(
    train: Facts, valid: Facts, test: Facts, chosen: Settings
) -> None:
    with TemporaryDirectory() as folder:
        evaluation = evaluate(
            written(Path(folder), train=train, valid=valid, test=test), chosen
        )
    cases = CaseBase(chosen)
    cases.update(add=reversed(train))
    everything = [*train, *valid, *test]
    expected = {}
    for fact in test:
        expected[fact, False] = plain_rank(cases, everything, fact, is_head=False)
        expected[fact, True] = plain_rank(cases, everything, fact, is_head=True)
    assert ranked(evaluation) == expected
    original = evaluation.ranks.original
    found = evaluation.ranks
    is_ranked = np.isfinite(original)
    assert (found.optimistic <= original).all()
    assert (original[is_ranked] <= found.pessimistic[is_ranked]).all()


def plain_rank(
    cases: CaseBase, everything: Facts, fact: Fact, *, is_head: bool
) -> tuple[float, float, float]:
    """The filtered rank of an end of a fact, by listing and comparing all entities."""
    head, relation, tail = fact
    scores = defaultdict[str, float](float)
    with suppress(UnknownName):
        if is_head:
            answers = cases.ask_head(relation, tail, top=-1)
        else:
            answers = cases.ask(head, relation, top=-1)
        for answer in answers:
            scores[answer.entity] = answer.score

    facts = set(everything)
    if is_head:
        target = head
        known = {h for h, label, t in facts if (label, t) == (relation, tail)}
    else:
        target = tail
        known = oracle.answers(facts, head, relation)
    rivals = oracle.entities(facts) - known - {target}
    better = sum(scores[name] > scores[target] for name in rivals)
    equal = sum(scores[name] == scores[target] for name in rivals)
    return better + 1, better + 1 + equal / 2, better + equal + 1


def random_facts(seed: int, number: int) -> Facts:
    chance = random.Random(seed)
    return [random_fact(chance, heads=20, relations=3, tails=20) for _ in range(number)]


@pytest.mark.parametrize("chosen", SETTINGS)
def test_neither_the_order_of_lines_nor_threads_make_a_difference(
    tmp_path: Path, chosen: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = random_facts(seed=7, number=150)
    outcomes = []
    for threads, seed in (("1", 0), ("2", 1), ("1", 2)):
        monkeypatch.setenv("CASEGRAPH_THREADS", threads)
        splits = {"train": facts[:110], "valid": facts[110:125], "test": facts[125:]}
        for lines in splits.values():
            random.Random(seed).shuffle(lines)
        found = evaluate(written(tmp_path, **splits), chosen)
        outcomes.append(
            (found.metrics, found.by_relation, found.ranks.original.tolist())
        )
    assert outcomes[0] == outcomes[1] == outcomes[2]


@needs_data
@pytest.mark.parametrize("split", ["valid", "test"])
def test_paths_of_two_steps_answer_most_of_umls(split: str) -> None:
    evaluation = evaluate(
        Benchmark.open(DATA / "UMLS"), Settings(max_length=2), split=split
    )
    assert evaluation.facts == 5216
    assert len(evaluation.questions.entities) == 135
    assert evaluation.metrics[MRR] > 0.9


@needs_data
@pytest.mark.parametrize(
    ("name", "metric", "floor"),
    [
        ("Countries-S1", MRR, 0.999),
        ("Countries-S2", "tail.realistic.inverse_harmonic_mean_rank", 0.9),
        ("Countries-S3", "tail.realistic.inverse_harmonic_mean_rank", 0.3),
    ],
)
def test_where_countries_lie_is_found(name: str, metric: str, floor: float) -> None:
    evaluation = evaluate(Benchmark.open(DATA / name), Settings(), split="valid")
    assert len(evaluation.questions) == 48
    assert evaluation.metrics[metric] > floor

"""Embeddings in the stream: short trainings on UMLS, where PyKEEN and the data are there."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.experiments.embedding_scores import Scoring
from benchmarks.experiments.embedding_stream import Variant, embedding_stream, offline
from benchmarks.experiments.embeddings import (
    MODELS,
    Embedding,
    Lesson,
    Training,
    asked_for,
    replayed,
)

from casegraph.errors import InvalidArgument
from casegraph.evaluation.catalogue import find, located
from casegraph.evaluation.datasets import Benchmark
from casegraph.experiments.arrivals import Plan
from casegraph.experiments.journal import MRR

# PyKEEN and what it imports warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("default")
SHORT = Training(dimension=8, epochs=2, every=1, negatives=4, valid=20)


def has_pykeen() -> bool:
    try:
        import pykeen.models  # noqa: F401
    except ImportError:
        return False
    return True


needs_pykeen = pytest.mark.skipif(not has_pykeen(), reason="PyKEEN is not installed")
needs_data = pytest.mark.skipif(
    find("UMLS") is None, reason="the benchmark data is not on this machine"
)


def test_facts_near_newcomers_are_ten_times_as_likely_to_be_replayed() -> None:
    facts = np.array([[number, 0, number] for number in range(2000)])
    is_near = np.arange(2000) < 1000
    random = np.random.default_rng(0)
    again = replayed(facts, is_near, 0.1, random)
    assert len(again) == 200
    near = int((again[:, 0] < 1000).sum())
    assert 160 <= near <= 190  # 10 of 11, less a little as none is drawn twice
    assert len(np.unique(again[:, 0])) == 200
    assert len(replayed(facts, is_near, 0.0, random)) == 0


def test_a_fact_is_asked_for_on_both_sides() -> None:
    assert asked_for(np.array([[3, 1, 5]])).tolist() == [[2, 3, 5], [3, 5, 3]]


@needs_pykeen
@needs_data
@pytest.mark.parametrize("model", MODELS)
def test_every_model_trains_offline_and_is_kept(model: str, tmp_path: Path) -> None:
    training = Training(
        model=model, dimension=16, epochs=1, every=1, negatives=2, valid=10, batch=1024
    )
    benchmark = Benchmark.open(located("UMLS"))
    record = offline(benchmark, training, tmp_path)
    assert record["trained"]["epochs"] == 1
    assert 0 < record["metrics"]["online"]["test"]["all"][MRR] < 1
    assert offline(benchmark, training, tmp_path) == record  # nothing is trained again


@needs_pykeen
@needs_data
@pytest.mark.parametrize(
    "variant",
    [
        Variant(replay=0.1),
        Variant(placed=True, replay=0.1),
        Variant(frozen=True, replay=0.3),
    ],
    ids=lambda variant: variant.name("RotatE"),
)
def test_a_variant_goes_through_the_stream(variant: Variant, tmp_path: Path) -> None:
    benchmark = Benchmark.open(located("UMLS"))
    plan = Plan(batches=1)
    records = embedding_stream(benchmark, plan, variant, SHORT, tmp_path)
    assert [record["batch"] for record in records] == [0, 1]
    assert records[-1]["entities"] == 135
    assert embedding_stream(benchmark, plan, variant, SHORT, tmp_path) == records


@needs_pykeen
@pytest.mark.parametrize("model", MODELS)
def test_scores_of_many_questions_at_once_are_those_of_pykeen(model: str) -> None:
    import torch

    training = Training(model=model, dimension=16)
    theirs = Embedding(training, 7, 3).model
    theirs.eval()
    questions = np.array([[0, 1], [1, 2], [4, 0], [5, 6]])
    candidates = np.array([0, 3, 5, 6])
    with torch.no_grad():
        scoring = Scoring(torch, model, theirs)
        vectors = scoring.questions(questions)
        answers = scoring.answers(candidates)
        found = scoring.of_all(vectors, answers)
        of_own = scoring.of_own(vectors, answers)
        assert of_own.tolist() == pytest.approx(found.diagonal().tolist(), abs=1e-5)
        for row, (direction, entity) in enumerate(questions.tolist()):
            relation = direction if model == "ConvE" else direction // 2
            facts = torch.tensor(
                [[entity, relation, one] for one in candidates.tolist()]
            )
            if direction % 2 and model != "ConvE":
                facts = facts[:, [2, 1, 0]]
            expected = theirs.score_hrt(facts)[:, 0]
            assert found[row].tolist() == pytest.approx(expected.tolist(), abs=1e-5)


@needs_pykeen
def test_frozen_entities_keep_their_embeddings_and_others_do_not() -> None:
    embedding = Embedding(SHORT, 6, 2)
    before = embedding.model.entity_representations[0](None).detach().numpy().copy()
    facts = np.array([[0, 0, 4], [1, 1, 5], [2, 0, 5]])
    lesson = Lesson(facts=facts, valid=facts, known=facts, entities=6, frozen=4)
    embedding.train(lesson)
    after = embedding.model.entity_representations[0](None).detach().numpy()
    assert (before[:4] == after[:4]).all()
    assert (before[4:] != after[4:]).any(axis=1).all()


@needs_pykeen
def test_a_placed_newcomer_is_where_its_neighbours_would_have_it() -> None:
    embedding = Embedding(SHORT, 4, 2)
    entities = embedding.model.entity_representations[0]
    rotations = embedding.model.relation_representations[0](None).detach().numpy()
    before = entities(None).detach().numpy().copy()
    embedding.place_newcomers(np.array([[0, 1, 2], [2, 0, 1]]), 2, 4)
    after = entities(None).detach().numpy()
    expected = (before[0] * rotations[1] + before[1] * rotations[0].conj()) / 2
    assert after[2] == pytest.approx(expected, abs=1e-5)
    assert (after[3] == before[3]).all()  # nothing is known of it


@needs_pykeen
def test_training_teaches_a_small_graph() -> None:
    facts = np.array([[number, 0, (number + 1) % 10] for number in range(10)])
    lesson = Lesson(facts=facts, valid=facts, known=facts, entities=10)
    training = Training(
        dimension=16, epochs=400, every=20, patience=5, negatives=4, learning_rate=0.05
    )
    trained = Embedding(training, 10, 1).train(lesson)
    assert trained.valid_mrr > 0.8


@needs_data
def test_only_rotations_can_place_newcomers(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="which alone has rotations"):
        embedding_stream(
            Benchmark.open(located("UMLS")),
            Plan(),
            Variant(placed=True),
            Training(model="TransE"),
            tmp_path,
        )

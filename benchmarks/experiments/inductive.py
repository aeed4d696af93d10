"""
Inductive completion (GraIL): questions about entities that were not seen in training.

In the pairs of Teru et al. (2020) two graphs share their relations and no entities. Systems that
are trained learn from the first, X, and answer about the second, X_ind, from its own facts. A case
base may know X_ind alone, or X and then X_ind: then precedents of both weigh the path types.
Either way answers are ranked

    fully    among all entities of X_ind, filtered by the facts of its splits
    sampled  among 50 of these entities, drawn at random (seeded), as the first papers do
"""

from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.experiments.candidates import mrr_and_hits, scored
from casegraph.answering.ranks import distinct
from casegraph.casebase import CaseBase
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import (
    directed,
    ids_of_entities,
    ids_of_relations,
    questions_of,
    read_files,
    rows_of_relation,
)
from casegraph.experiments.journal import Record
from casegraph.running import Show, quiet
from casegraph.settings import Settings

NEGATIVES = 50
ENDING = "_ind"


def inductive(
    folder: Path,
    settings: Settings,
    *,
    with_first: bool,
    tune: bool = False,
    seed: int = 0,
    show: Show = quiet,
) -> Record:
    """Ask for the test facts of X_ind, where `folder` is that of X.

    with_first  whether X is known, and X_ind is added to it
    tune        whether to tune the settings on the known facts, before the questions
    seed        of the sampled rivals
    """
    newcomers = Benchmark.open(folder.with_name(folder.name + ENDING))
    files = read_files(newcomers, "test", "train", show)
    started = process_time()
    cases = CaseBase(settings)
    if with_first:
        cases.update(add=Benchmark.open(folder).facts("train"))
    cases.update(add=files.facts("train"))
    if tune:
        cases.tune(show)
    cases.prepare(show=show)
    seconds = process_time() - started

    state = cases.state
    questions = questions_of(files, "test", "both", None)
    known = directed(files.known, "both")
    ids = ids_of_entities(state, files.entities)
    size = max(len(state.graph.entities), int(ids.max()) + 1)
    is_candidate = np.zeros(size, dtype=np.bool)
    is_candidate[ids] = True
    random = np.random.default_rng(seed)

    fully: list[float] = []
    sampled: list[float] = []
    for direction, relation in ids_of_relations(state, questions).items():
        asked = distinct(ids[rows_of_relation(questions.rows, direction)])
        its_known = distinct(ids[rows_of_relation(known, direction)])
        for question in scored(state, relation, asked, its_known, size):
            rivals = np.flatnonzero(question.unknown_among(is_candidate))
            for target in question.targets.tolist():
                drawn = random.permutation(rivals)[:NEGATIVES]
                fully.append(question.rank(target, rivals))
                sampled.append(question.rank(target, drawn))
    return {
        "pair": folder.name,
        "with_first": with_first,
        "tuned": tune,
        "facts": len(state.graph),
        "questions": len(questions),
        "seconds": seconds,
        "fully": mrr_and_hits(np.array(fully)),
        "sampled": mrr_and_hits(np.array(sampled)),
    }

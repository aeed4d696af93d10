"""
Arriving relations and retracted facts, which the paper's stream does not cover.

At first the facts of one relation are missing, the one that is asked about most. Then they arrive.
Then a tenth of all facts, drawn at random, are retracted, and added again. After each change the
state must equal one that is built from its facts at once; and when all facts are there, all answers
must be those of a graph that always had them.
"""

from time import process_time

import numpy as np

from casegraph.answering.ranks import Ranks
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import (
    directed,
    questions_of,
    ranked,
    read_files,
    tasks_of,
)
from casegraph.evaluation.ranking import metrics
from casegraph.execution.executor import HERE
from casegraph.experiments.journal import MRR, Record
from casegraph.experiments.verification import differences, rebuilt
from casegraph.graph.directions import relation_of
from casegraph.running import Show, quiet
from casegraph.settings import Settings

RETRACTED = 0.1  # this share of all facts


def changes(
    benchmark: Benchmark,
    settings: Settings,
    *,
    seed: int = 0,
    limit: int | None = None,
    show: Show = quiet,
) -> list[Record]:
    """Add a relation, then retract facts and add them again; a record for each step.

    seed   of the choice of facts
    limit  how many test facts to ask for, spread evenly; None: all
    """
    files = read_files(benchmark, "test", benchmark.graph, show)
    questions = questions_of(files, "test", "both", limit)
    known = directed(files.known, "both")
    relation_of_each = relation_of(questions.rows[:, 0])
    asked_most = int(np.bincount(relation_of_each).argmax())
    is_about_it = relation_of_each == asked_most
    relation = files.relations[asked_most]

    facts = list(files.facts(benchmark.graph))
    late = [fact for fact in facts if fact.relation == relation]
    early = [fact for fact in facts if fact.relation != relation]
    random = np.random.default_rng(seed)
    number = round(RETRACTED * len(facts))
    places = random.choice(len(facts), number, replace=False)
    some = [facts[place] for place in np.sort(places).tolist()]
    steps = {
        f"all but {relation}": {"add": early},
        f"{relation} arrives": {"add": late},
        f"{len(some):,} facts go": {"retract": some},
        "and return": {"add": some},
    }

    def ranks(state: State) -> Ranks:
        return ranked(state, tasks_of(state, questions, known), HERE, show)

    always_there = CaseBase(settings)
    always_there.update(add=facts)
    expected = ranks(always_there.state)

    cases = CaseBase(settings)
    records = []
    for name, change in steps.items():
        started = process_time()
        cases.update(**change)
        cases.prepare(show=show)
        seconds = process_time() - started
        found = ranks(cases.state)
        of_all = metrics(found, questions.is_head)
        of_relation = metrics(found[is_about_it], questions.is_head[is_about_it])
        is_as_expected = np.array_equal(found.realistic, expected.realistic)
        record = {
            "step": name,
            "facts": len(cases.graph),
            "seconds": seconds,
            "mrr": of_all[MRR],
            "mrr_of_relation": of_relation[MRR],
            "is_rebuild": not differences(cases.state, rebuilt(cases.state)),
            "answers_as_if_always_there": is_as_expected,
        }
        records.append(record)
    return records

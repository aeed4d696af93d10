"""
Arriving relations and retracted facts, which the paper's stream does not cover.

First all facts are there but those of one relation, the one that is asked about most. Then it
arrives. Then a tenth of all facts is retracted, drawn at random, and returns. After each change the
state must be what its facts give in one go, and when all facts are there, all answers must be those
of a graph that always had them.
"""

from time import process_time

import numpy as np

from casegraph.answering.ranking import Ranks
from casegraph.answering.state import State
from casegraph.casebase import CaseBase
from casegraph.evaluation.datasets import Benchmark
from casegraph.evaluation.evaluation import directed, questions_of, ranked, read_files, tasks_of
from casegraph.evaluation.ranking import metrics
from casegraph.execution.executor import HERE
from casegraph.experiments.records import MRR, Record
from casegraph.experiments.verification import differences, rebuilt
from casegraph.graph.directions import relation_of
from casegraph.running import Show, quiet
from casegraph.settings import Settings

RETRACTED = 0.1  # of all facts


def changes(
    benchmark: Benchmark,
    settings: Settings,
    *,
    seed: int = 0,
    limit: int | None = None,
    show: Show = quiet,
) -> list[Record]:
    """Let a relation arrive, and facts go and return; a record for each step.

    seed   of the choice of facts
    limit  ask for only so many facts of test, spread evenly
    """
    files = read_files(benchmark, "test", benchmark.graph, show)
    questions = questions_of(files, "test", "both", limit)
    known = directed(files.known, "both")
    of_question = relation_of(questions.rows[:, 0])
    asked_most = int(np.bincount(of_question).argmax())
    is_about_it = of_question == asked_most
    relation = files.relations[asked_most]

    facts = list(files.facts(benchmark.graph))
    late = [fact for fact in facts if fact.relation == relation]
    early = [fact for fact in facts if fact.relation != relation]
    random = np.random.default_rng(seed)
    places = random.choice(len(facts), round(RETRACTED * len(facts)), replace=False)
    some = [facts[place] for place in np.sort(places).tolist()]

    cases = CaseBase(settings)
    whole = CaseBase(settings)
    whole.update(add=facts)

    def ranks(state: State) -> Ranks:
        return ranked(state, tasks_of(state, questions, known), HERE, show)

    expected = ranks(whole.state)
    steps = {
        f"all but {relation}": {"add": early},
        f"{relation} arrives": {"add": late},
        f"{len(some):,} facts go": {"retract": some},
        "and return": {"add": some},
    }
    records = []
    for name, change in steps.items():
        started = process_time()
        cases.update(**change)
        cases.prepare(show=show)
        seconds = process_time() - started
        found = ranks(cases.state)
        records.append(
            {
                "step": name,
                "facts": len(cases.graph),
                "seconds": seconds,
                "mrr": metrics(found, questions.is_head)[MRR],
                "mrr_of_relation": metrics(found[is_about_it], questions.is_head[is_about_it])[MRR],
                "is_rebuild": not differences(cases.state, rebuilt(cases.state)),
                "answers_as_if_always_there": bool(
                    np.array_equal(found.realistic, expected.realistic)
                ),
            }
        )
    return records

"""
The page docs/open-world.md with its pictures, from the lines that the experiments have written.

Used by `benchmarks/open_world.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

from benchmarks.experiments import pictures
from benchmarks.experiments.embedding_stream import VARIANTS
from benchmarks.experiments.embeddings import MODELS
from benchmarks.experiments.lifelong import PROTOCOLS, summary
from benchmarks.open_world_claims import claims_section
from benchmarks.open_world_records import (
    DEFAULT,
    PAPER,
    PUBLISHED,
    SPLIT,
    SPLIT_NAMES,
    STREAMED,
    Kept,
    is_embedding,
    mean_and_spread,
    name_of,
)
from benchmarks.reproduce import machine, table
from casegraph.evaluation.catalogue import located
from casegraph.experiments.journal import MRR, Record, mrr_of
from casegraph.formats.name_files import read_names

FIRST_SEED = 0
NOT_YET = "Not run yet on this machine; `scripts/open-world` does.\n"
EARLIER = "*Not run again on this machine: this section is of an earlier version.*\n"


def write_page(kept: Kept, page: Path, note: str = "") -> None:
    """Draw the pictures and write the page; `note` is said of the machine.

    A section of which nothing was run stays as the page has it.
    """
    pictures.mrr_over_batches(
        kept.streams, page.with_name("open-world-mrr.svg"), kept.offline
    )
    pictures.work_over_batches(
        kept.streams, STREAMED, page.with_name("open-world-work.svg")
    )
    pictures.seconds_over_batches(
        kept.streams, STREAMED, page.with_name("open-world-seconds.svg")
    )
    about = ". ".join(part for part in (machine(), note) if part)
    parts = [PREFACE.format(machine=about)]
    before = _sections(page)
    for section in SECTIONS:
        text = section(kept).strip() + "\n"
        title = text.splitlines()[0]
        if text.endswith(NOT_YET) and title in before:
            text = before[title]
            if EARLIER not in text:
                text = text.replace(f"{title}\n", f"{title}\n\n{EARLIER}", 1)
        parts.append(text)
    page.write_text("\n".join(parts), encoding="utf-8")


def _sections(page: Path) -> dict[str, str]:
    """The sections that a page has, by the lines of their titles."""
    if not page.exists():
        return {}
    _, *parts = page.read_text(encoding="utf-8").split("\n## ")
    sections = [f"## {part.rstrip()}\n" for part in parts]
    return {section.splitlines()[0]: section for section in sections}


PREFACE = """# The open world

Written by `scripts/open-world`; do not edit. {machine}.

Entities that nobody has seen before arrive with their facts, and questions about them follow at
once (§3.3, §3.4, A.3 and A.5 of the paper). MRR is filtered: an answer that some file knows is no
rival of another. Candidates are the entities that have arrived; ties get their mean rank. All
seconds are of the processor, those of all threads added up, so that a busy machine changes little.
"""

STREAM = """## The paper's stream

At first half of the entities are there: the tenth with most facts, and others at random. The rest
arrives in ten batches, with its facts of train. A fact of test is asked for as soon as both of its
entities are there. Of each batch all newcomers but five arrive together, and these five alone, one
after the other. This prints one stream:

```sh
casegraph stream FB122 --verify --out streams
casegraph stream FB122 --verify --out streams --settings paper
```

- **casegraph** is the default setting. It is not [tuned](accuracy.md#tuning-and-probabilities):
  tuning asks a graph for its own facts, and half a graph would choose for the whole one.
- *The paper's settings* cluster by GRINCH, which follows each change. Their *oracle* clusters (HAC)
  and counts everything from scratch after each batch.
- *The published prior* takes the prior from sampled walks, as the code of the paper's authors does
  ([results](results.md)).
- *RotatE*, trained further with each batch, is described [below](#embeddings).

![MRR over batches](open-world-mrr.svg)

The paper's figure 3. The rows differ in how many of the older facts RotatE trains on again. Lines
are means over the seeds, bands go from the least to the most. A line that ends early is that of a
stream that was not run to its end.

After the last batch that was run, of ten. Two questions are asked for each fact of test, one for
its head and one for its tail; where there are fewer questions, they are a sample that is spread
evenly over the file.

"""


def stream_section(kept: Kept) -> str:
    """Figure 3, and the figures after the last batch."""
    header = (
        "test facts",
        "system",
        "after batch",
        "seeds",
        "questions",
        "MRR, all",
        "MRR, new",
        "oracle, all",
        "difference",
    )
    lines = []
    for benchmark, splits in (("FB122", ("testI", "test")), ("WN18RR", ("test",))):
        for split in splits:
            facts = f"{benchmark}, {SPLIT_NAMES[split]}"
            for system in (DEFAULT, PAPER, PUBLISHED, *kept.embeddings(benchmark)):
                last = kept.last(benchmark, system)
                if last and split in last[0]["metrics"]["online"]:
                    lines.append(
                        [facts, name_of(system), *_at_the_end(system, split, last)]
                    )
    verified = sum(bool(record.get("verified")) for record in kept.streams)
    text = STREAM + table(lines, header)
    if verified:
        text += f"\n{verified} states were compared with a rebuild (`--verify`); none differed.\n"
    missing = _not_streamed(kept)
    if missing:
        text += f"\nNot run to the end on this machine: {'; '.join(missing)}.\n"
    return text


def _is_unfinished(kept: Kept, benchmark: str, system: str) -> bool:
    last = kept.last(benchmark, system)
    return not last or last[0]["batch"] < kept.batches


def _at_the_end(system: str, split: str, last: Sequence[Record]) -> list[str]:
    """The batch, seeds, questions, the MRR on all and on new facts, and that of the oracle."""
    every = [mrr_of(record, split, "all") or 0.0 for record in last]
    new = [mrr_of(record, split, "new") or 0.0 for record in last]
    asked = last[0]["metrics"]["online"][split]["all"].get("questions")
    so_far = [str(last[0]["batch"]), str(len(last)), f"{asked:,}" if asked else ""]
    cells = [*so_far, mean_and_spread(every), mean_and_spread(new)]
    if is_embedding(system):
        return [*cells, "", ""]
    oracle = [mrr_of(record, split, "all", "oracle") for record in last]
    anew = (
        fmean(one for one in oracle if one is not None) if any(oracle) else fmean(every)
    )
    return [*cells, f"{anew:.4f}", f"{fmean(every) - anew:+.4f}"]


def _not_streamed(kept: Kept) -> list[str]:
    """What the page would show of each benchmark if it had been run."""
    variants = [variant.name("RotatE") for variant in VARIANTS]
    missing = []
    for benchmark in STREAMED:
        systems = [
            name_of(system)
            for system in (DEFAULT, PAPER, *variants)
            if _is_unfinished(kept, benchmark, system)
        ]
        if systems:
            missing.append(f"{benchmark} by {', '.join(systems)}")
    return missing


WORK = """## Work for a batch

![Entities that come and change with each batch](open-world-work.svg)

The paper's figure 4: how many entities arrive with a batch, how many older ones get relations that
they did not have, and, by the paper's settings, how many older ones GRINCH puts into another
cluster. The oracle works for all entities so far, the line at the top.

![Seconds of an update beside a rebuild](open-world-seconds.svg)

A whole batch changes so many facts (more than 256) that counting everything anew is cheaper than
following each change. Updates are made for the newcomers that arrive alone: hits change only for
the entities on cycles through new facts (A.4), and all other counts catch up when they are asked
for. *Newcomer, answer* is the time from its facts to the first answer about it. Medians over all
batches and seeds, in seconds of the processor:

"""


def work_section(kept: Kept) -> str:
    """Figure 4, and what an update takes beside a rebuild."""
    header = (
        "stream",
        "rebuild",
        "a batch at once",
        "newcomer, answer",
        "newcomer, update",
        "recounted for a newcomer",
        "of entities",
    )
    lines = []
    for benchmark in STREAMED:
        for system in (DEFAULT, PAPER):
            later = [
                record for record in kept.of(benchmark, system) if record.get("alone")
            ]
            alone = [step for record in later for step in record["alone"]]
            if alone:
                lines.append(
                    [
                        f"{benchmark}, {name_of(system)}",
                        f"{median(record['rebuild']['seconds'] for record in later):.2f}",
                        f"{median(pictures.batch_seconds(record) for record in later):.2f}",
                        f"{median(pictures.seconds_to_answer(step) for step in alone):.3f}",
                        f"{median(step['seconds'] for step in alone):.4f}",
                        f"{median(step['recounted'] for step in alone):,.0f}",
                        f"{median(record['entities'] for record in later):,.0f}",
                    ]
                )
    return WORK + table(lines, header)


CLUSTERS = """## Clusters that newcomers join

The table of A.5, on FB122 by the paper's settings: clusters that GRINCH put newcomers into, and
entities that were in them before, those with most facts first, by their names in Wikidata.

"""
SHOWN_OF_A_BATCH = 2
SHOWN = 8
MEMBERS = 4
LARGEST = 400  # members; the largest clusters hold all kinds of things


def clusters_section(kept: Kept) -> str:
    """The table of example clusters."""
    lines: list[list[str]] = []
    for record in kept.of("FB122", PAPER):
        if record["seed"] == FIRST_SEED and record["batch"] and len(lines) < SHOWN:
            lines += _examples(
                record, {name for line in lines for name in line[2].split(", ")}
            )
    if not lines:
        return CLUSTERS + NOT_YET
    return CLUSTERS + table(lines, ("batch", "entities", "there before", "newcomers"))


def _examples(record: Record, seen: set[str]) -> list[list[str]]:
    """Some clusters that newcomers joined with a batch.

    seen  members of clusters that are shown already, which are not shown again
    """
    names = _names("FB122")
    lines: list[list[str]] = []
    for example in record["examples"]:
        members = [names[one] for one in example["members"] if one in names][:MEMBERS]
        newcomers = [names[one] for one in example["newcomers"] if one in names][
            :MEMBERS
        ]
        is_shown = (
            len(newcomers) > 1
            and example["size"] <= LARGEST
            and not seen & set(members)
        )
        if is_shown and len(lines) < SHOWN_OF_A_BATCH:
            size = f"{example['size']:,}"
            lines.append(
                [str(record["batch"]), size, ", ".join(members), ", ".join(newcomers)]
            )
    return lines


def _names(benchmark: str) -> dict[str, str]:
    """What entities are called."""
    file = located(benchmark) / "entity_names.txt.gz"
    return {said.name: said.label for said in read_names(file) if said.label}


CHANGES = """## Relations that arrive, facts that go

The paper tries neither. At first all facts are there but those of the relation that is asked about
most; then it arrives; then a tenth of all facts goes, and returns. *Equals a rebuild*: every count
is the one that the facts give in one go. *As if always there*: every rank is that of a graph that
always had all facts. Default settings, not tuned.

"""


def changes_section(kept: Kept) -> str:
    """New relations and retractions."""
    if not any(kept.changes.values()):
        return CHANGES + NOT_YET
    header = (
        "stream",
        "step",
        "facts",
        "seconds",
        "MRR",
        "MRR of the relation",
        "equals a rebuild",
        "as if always there",
    )
    lines = []
    for benchmark, records in kept.changes.items():
        for record in records:
            lines.append(
                [
                    benchmark,
                    record["step"],
                    f"{record['facts']:,}",
                    f"{record['seconds']:.1f}",
                    f"{record['mrr']:.4f}",
                    f"{record['mrr_of_relation']:.4f}",
                    _yes(record["is_rebuild"]),
                    _yes(record["answers_as_if_always_there"]),
                ]
            )
    return CHANGES + table(lines, header)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


LIFELONG = """## Snapshots

LKGE-ENTITY (Cui et al. 2023) is FB15k-237 in five snapshots, each with new entities; after each
snapshot the test sets of all so far are asked for. Means over the five test sets after the last
snapshot, default settings, not tuned. *Then* is the protocol of the benchmark's code, which the
published figures are assumed to follow: the test set of snapshot j is ranked among the entities
of snapshots up to j, and passes over the facts of files up to j. *Now* ranks among all entities
and passes over all facts. *Backward transfer* is what the MRR of a test set gains from its own
snapshot to the last: below 0, something was forgotten.

"""
SNAPSHOTS = 5
LIFELONG_PUBLISHED = (
    ("*fine-tuning (IncDE's table 2)*", "then", ".165", ".085", ".321", ""),
    ("*EWC (the same)*", "then", ".229", ".130", ".423", ""),
    ("*LKGE (the same)*", "then", ".234", ".136", ".425", ""),
    ("*IncDE (the same)*", "then", ".253", ".151", ".448", ""),
)


def lifelong_section(kept: Kept) -> str:
    """LKGE-ENTITY."""
    if not kept.lifelong:
        return LIFELONG + NOT_YET
    found = summary(kept.lifelong)
    lines = []
    for protocol in PROTOCOLS:
        figures = found[protocol]
        lines.append(
            [
                "**casegraph**",
                protocol,
                f"{figures['mrr']:.3f}",
                f"{figures['hits_at_1']:.3f}",
                f"{figures['hits_at_10']:.3f}",
                f"{figures['backward_transfer']:+.4f}",
            ]
        )
    lines += [list(line) for line in LIFELONG_PUBLISHED]
    asked = {record["test_set"]: record["questions"] for record in kept.lifelong}
    numbers = ", ".join(f"{asked[test_set]:,}" for test_set in sorted(asked))
    header = ("system", "protocol", "MRR", "H@1", "H@10", "backward transfer")
    text = LIFELONG + table(lines, header) + _forgotten(found)
    last = max(record["snapshot"] for record in kept.lifelong)
    if last + 1 < SNAPSHOTS:
        text += f"\nOnly {last + 1} of the {SNAPSHOTS} snapshots were run on this machine.\n"
    text += (
        f"\nQuestions of each test set, two for each fact that is asked for: {numbers}. "
        "The MRR (*now* / *then*) of each after each snapshot:\n\n"
    )
    rows = []
    for snapshot in range(last + 1):
        cells = ["" for _ in range(last + 1)]
        for record in kept.lifelong:
            if record["snapshot"] == snapshot:
                both = f"{record['now']['mrr']:.3f} / {record['then']['mrr']:.3f}"
                cells[record["test_set"]] = both
        seconds = next(
            one["seconds"] for one in kept.lifelong if one["snapshot"] == snapshot
        )
        rows.append([str(snapshot), *cells, f"{seconds:.0f}"])
    sets = [f"test set {one}" for one in range(last + 1)]
    return text + table(rows, ("after snapshot", *sets, "update s"))


def _forgotten(found: Record) -> str:
    """Whether old answers got worse, among the same candidates and among all of them."""
    then = found["then"]["backward_transfer"]
    now = found["now"]["backward_transfer"]
    verdict = "Nothing is forgotten" if then >= 0 else "Something is forgotten"
    return (
        f"\n{verdict}: among the same candidates, old questions gain {then:+.4f} by what came "
        f"later. *Now* it is {now:+.4f}, where newcomers compete for the same answers, too.\n"
    )


INDUCTIVE = """## Inductive pairs

GraIL's pairs (Teru et al. 2020): the second graph of a pair shares relations with the first, and
no entity. *Alone*: only the second graph is known. *After the first*: the first is known, and the
second comes as newcomers. *Tuned* chooses how far to walk and how to combine evidence, by facts of
the graph that is known.

MRR among all entities of the second graph. Published columns, in italics, are those that MoKGR
(EMNLP 2025, table 6) collected, from a copy whose cells had shifted: check before quoting.

"""
INDUCTIVE_PUBLISHED = {
    "WN18RR_v1": (".668", ".684", ".701", ".733", ".775"),
    "WN18RR_v2": (".645", ".652", ".690", ".715", ".761"),
    "fb237_v1": (".363", ".307", ".369", ".310", ".396"),
    "fb237_v2": (".433", ".369", ".469", ".471", ".497"),
    "nell_v1": (".615", ".584", ".637", ".644", ".718"),
}
WAYS = ("alone", "alone, tuned", "after the first", "after the first, tuned")


def inductive_section(kept: Kept) -> str:
    """GraIL."""
    if not kept.inductive:
        return INDUCTIVE + NOT_YET
    by_pair: dict[str, dict[str, Record]] = {}
    for record in kept.inductive:
        known = "after the first" if record["with_first"] else "alone"
        way = f"{known}, tuned" if record["tuned"] else known
        by_pair.setdefault(record["pair"], {})[way] = record
    lines = []
    for pair, published in INDUCTIVE_PUBLISHED.items():
        cells = [f"{by_pair[pair][way]['fully']['mrr']:.3f}" for way in WAYS]
        lines.append([pair, *cells, *(f"*{figure}*" for figure in published)])
    header = ("pair", *WAYS, "*RuleN*", "*NBFNet*", "*RED-GNN*", "*AdaProp*", "*MoKGR*")
    text = INDUCTIVE + table(lines, header)

    more = []
    for pair, ways in by_pair.items():
        for way in WAYS:
            fully = ways[way]["fully"]
            more.append(
                [
                    pair,
                    way,
                    f"{fully['hits_at_1']:.3f}",
                    f"{fully['hits_at_10']:.3f}",
                    f"{ways[way]['sampled']['hits_at_10']:.3f}",
                    f"{ways[way]['seconds']:.1f}",
                ]
            )
    columns = ("pair", "known", "H@1", "H@10", "H@10 among 50 sampled", "seconds")
    return text + "\nThe same runs:\n\n" + table(more, columns)


EMBEDDINGS = """## Embeddings

By PyKEEN, with fewer dimensions and epochs than in the papers, so that one processor can train
them: the tables say which. Training stops when facts of valid are no longer answered better, as in
the paper. casegraph trains nothing: 0 seconds.

### In the stream

All variants begin with the same model of the seed graph, and train on with the facts of each batch.
The percentage is the part of the older facts that is *replayed*, which means trained on again;
those near newcomers are ten times as likely. The embedding of a newcomer begins at random, in
*RotatE+* where its neighbours would have it. *RotatE-Freeze* keeps the embeddings of older
entities.

"""
OFFLINE = """
### Offline

All facts of train at once. In italics beside it what the paper's tables 2 and 3 have.

"""
PUBLISHED_OFFLINE = {
    "UMLS": {},
    "FB122": {
        "TransE": {"testI": ".296", "testII": ".630", "test": ".480"},
        "DistMult": {"testI": ".313", "testII": ".874", "test": ".628"},
        "ComplEx": {"testI": ".329", "testII": ".887", "test": ".641"},
        "RotatE": {"testI": ".471", "testII": ".846", "test": ".678"},
    },
    "WN18RR": {"RotatE": {"test": ".48"}},
}
OTHERS = """
[Results](results.md) has the published rows of all other systems in the paper's tables (KALE, ASR,
KBlr, GNTP, MINERVA, CBR), and what casegraph measures on the same facts.
"""


def embeddings_section(kept: Kept) -> str:
    """Embeddings beside the published rows."""
    return (
        EMBEDDINGS
        + _streamed_embeddings(kept)
        + OFFLINE
        + _offline_embeddings(kept)
        + OTHERS
    )


def _streamed_embeddings(kept: Kept) -> str:
    """How the embeddings of the stream were trained, and how long."""
    header = ("test facts", "system", "dimension", "epochs", "training s", "MRR, all")
    lines = []
    how = []
    for benchmark in STREAMED:
        split = SPLIT[benchmark]
        for system in kept.embeddings(benchmark):
            records = kept.of(benchmark, system)
            mrr = [
                mrr_of(record, split, "all") or 0.0
                for record in kept.last(benchmark, system)
            ]
            lines.append(
                [
                    f"{benchmark}, {SPLIT_NAMES[split]}",
                    system,
                    str(records[0]["training"]["dimension"]),
                    f"{sum(record['trained']['epochs'] for record in records):,}",
                    f"{sum(record['trained']['seconds'] for record in records):,.0f}",
                    mean_and_spread(mrr),
                ]
            )
            how.append(f"{benchmark}: {_trained(records[0]['training'])}")
    if not lines:
        return NOT_YET
    described = "".join(f"- {one}\n" for one in dict.fromkeys(how))
    return f"{table(lines, header)}\nEpochs and seconds are those of all batches.\n\n{described}"


def _trained(training: Record) -> str:
    """How a model was trained, in words."""
    return (
        f"at most {training['epochs']} epochs a batch, learning rate "
        f"{training['learning_rate']:g}, {training['negatives']} wrong answers for each step of "
        f"{training['batch']:,} questions; every {training['every']} epochs "
        f"{training['valid']} facts of valid are asked for, and training ends when they were "
        f"answered no better {training['patience']} times."
    )


def _offline_embeddings(kept: Kept) -> str:
    header = (
        "test facts",
        "model",
        "MRR",
        "in the paper",
        "H@10",
        "dimension",
        "epochs",
        "learning rate",
        "training s",
    )
    lines = list(_offline_lines(kept))
    text = table(lines, header) if lines else NOT_YET
    missing = [
        f"{model} on {benchmark}"
        for benchmark, known in PUBLISHED_OFFLINE.items()
        for model in (known or MODELS)
        if kept.offline_of(benchmark, model) is None
    ]
    if missing:
        text += f"\nNot trained on this machine: {', '.join(missing)}.\n"
    return text


def _offline_lines(kept: Kept) -> Iterator[list[str]]:
    for benchmark, known in PUBLISHED_OFFLINE.items():
        for model in MODELS:
            record = kept.offline_of(benchmark, model)
            if record is None:
                continue
            training = record["training"]
            for split, groups in record["metrics"]["online"].items():
                of_paper = known.get(model, {}).get(split)
                yield [
                    f"{benchmark}, {SPLIT_NAMES[split]}",
                    model,
                    f"{groups['all'][MRR]:.3f}",
                    f"*{of_paper}*" if of_paper else "",
                    f"{groups['all']['both.realistic.hits_at_10']:.3f}",
                    str(training["dimension"]),
                    str(record["trained"]["epochs"]),
                    f"{training['learning_rate']:g}",
                    f"{record['trained']['seconds']:,.0f}",
                ]


SECTIONS: tuple[Callable[[Kept], str], ...] = (
    stream_section,
    claims_section,
    work_section,
    clusters_section,
    changes_section,
    lifelong_section,
    inductive_section,
    embeddings_section,
)

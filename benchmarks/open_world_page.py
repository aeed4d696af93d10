"""
The page docs/open-world.md with its pictures, from the lines that the experiments have written.

Used by `benchmarks/open_world.py`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median, pstdev

from benchmarks.reproduce import machine, table
from casegraph.evaluation.catalogue import located
from casegraph.experiments import pictures
from casegraph.experiments.embedding_stream import VARIANTS
from casegraph.experiments.embeddings import MODELS
from casegraph.experiments.lifelong import PROTOCOLS, summary
from casegraph.experiments.pictures import mrr_of
from casegraph.experiments.stream import MRR, Record, read_records
from casegraph.formats.names import read_names

STREAMED = ("FB122", "WN18RR")
FIRST_SEED = 0


class Kept:
    """What the experiments have written so far."""

    def __init__(self, folder: Path) -> None:
        of_each = [read_records(path) for path in sorted(folder.glob("*.seed*.jsonl"))]
        batches = max((len(records) for records in of_each), default=0)
        self.streams: list[Record] = []
        self.begun: list[Record] = []  # those of streams that are not finished, too
        for records in of_each:
            self.begun += records
            if len(records) == batches:  # others are unfinished
                self.streams += records
        self.offline: list[Record] = []
        for path in sorted(folder.glob("*.offline.jsonl")):
            self.offline += read_records(path)
        self.changes = {
            benchmark: _read(folder / f"changes.{benchmark}.jsonl") for benchmark in STREAMED
        }
        self.lifelong = _read(folder / "lifelong.jsonl")
        self.inductive = _read(folder / "inductive.jsonl")

    def of(self, benchmark: str, system: str) -> list[Record]:
        """The lines of a stream, over all seeds."""
        return [
            record
            for record in self.streams
            if record["benchmark"] == benchmark and record["system"] == system
        ]

    def last(self, benchmark: str, system: str) -> list[Record]:
        """The lines after the last batch, one for each seed."""
        found = self.of(benchmark, system)
        last = max((record["batch"] for record in found), default=0)
        return [record for record in found if record["batch"] == last]

    def embeddings(self, benchmark: str) -> list[str]:
        """The embeddings that were streamed."""
        found = {record["system"] for record in self.streams if record["benchmark"] == benchmark}
        return sorted(system for system in found if system.endswith("%"))


def _read(path: Path) -> list[Record]:
    return read_records(path) if path.exists() else []


def write_page(kept: Kept, page: Path, note: str = "") -> None:
    """Draw the pictures and write the page; `note` is said of the machine."""
    pictures.mrr_over_batches(kept.begun, page.with_name("open-world-mrr.svg"), kept.offline)
    pictures.work_over_batches(kept.begun, STREAMED, page.with_name("open-world-work.svg"))
    pictures.seconds_over_batches(kept.begun, STREAMED, page.with_name("open-world-seconds.svg"))
    about = "; ".join(part for part in (machine(), note) if part)
    parts = [PREFACE.format(machine=about)]
    for section in SECTIONS:
        parts.append(section(kept).strip() + "\n")
    page.write_text("\n".join(parts), encoding="utf-8")


PREFACE = """# The open world

Written by `scripts/open-world`; do not edit. {machine}.

Entities that nobody has seen before come with their facts, and questions about them follow at
once (§3.3, §3.4, A.3 and A.5 of the paper). MRR is filtered, with the mean rank for ties, among
the entities that are there; every other answer that some file knows is passed over.
"""

STREAM = """## The paper's stream

Half of the entities are there at first: the tenth with most facts, and others at random. The rest
comes in ten batches with its facts of train; facts of test are asked for as soon as both of their
entities are there. In each batch all newcomers but five come together, and these five alone, one
after the other. `casegraph stream FB122 --settings paper --out DIR` prints it for one seed.

*casegraph* are the default settings, not tuned: [tuning](accuracy.md#tuning-and-probabilities)
asks a graph for its own facts, and half a graph would choose for the whole one. *The paper's
settings* cluster by GRINCH, which follows each change; the *oracle* clusters (HAC) and counts
everything from scratch after each batch. *The published prior* takes the prior from sampled
walks, as the code of the paper's authors does ([results](results.md)).

![MRR over batches](open-world-mrr.svg)

The paper's figure 3: lines are means over the seeds, bands go from the least to the most. A line
that ends early is that of a stream that was not run to its end yet.

"""


def stream_section(kept: Kept) -> str:
    """Figure 3, and the figures after the last batch."""
    header = ("system", "facts of", "seeds", "MRR, all", "MRR, new", "oracle, all", "difference")
    lines = []
    for benchmark, splits in (("FB122", ("testI", "test")), ("WN18RR", ("test",))):
        names = ["default", "paper-grinch", "published-grinch", *kept.embeddings(benchmark)]
        for split in splits:
            for system in names:
                last = kept.last(benchmark, system)
                if last:
                    lines.append(_last_line(benchmark, system, split, last))
    verified = sum(bool(record.get("verified")) for record in kept.streams)
    checked = f"\n{verified} states were compared with a rebuild (`--verify`); none differed.\n"
    missing = _not_streamed(kept)
    if missing:
        checked += f"\nNot run yet on this machine: {'; '.join(missing)}.\n"
    return STREAM + "After the last batch:\n\n" + table(lines, header) + checked


def _not_streamed(kept: Kept) -> list[str]:
    """What the page would show of each benchmark if it had been run."""
    variants = [variant.name("RotatE") for variant in VARIANTS]
    missing = []
    for benchmark in STREAMED:
        systems = [
            _label(system)
            for system in ("default", "paper-grinch", *variants)
            if not kept.last(benchmark, system)
        ]
        if systems:
            missing.append(f"{benchmark} by {', '.join(systems)}")
    return missing


def _last_line(benchmark: str, system: str, split: str, last: Sequence[Record]) -> list[str]:
    every = [mrr_of(record, split, "all") or 0.0 for record in last]
    new = [mrr_of(record, split, "new") or 0.0 for record in last]
    oracle = [mrr_of(record, split, "all", "oracle") for record in last]
    known = [one for one in oracle if one is not None]
    is_ours = not system.endswith("%")
    compared = fmean(known) if known else fmean(every)
    return [
        _label(system),
        f"{benchmark} {split}",
        str(len(last)),
        _mean(every),
        _mean(new),
        f"{compared:.4f}" if is_ours else "",
        f"{fmean(every) - compared:+.4f}" if is_ours else "",
    ]


def _label(system: str) -> str:
    labels = {
        "default": "**casegraph**",
        "paper-grinch": "the paper's settings",
        "published-grinch": "the published prior",
    }
    return labels.get(system, system)


def _mean(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{fmean(values):.4f} ± {pstdev(values):.4f}"


def claims_section(kept: Kept) -> str:
    """The five claims of §3.4, one after the other."""
    parts = ["## The paper's five claims\n"]
    parts.append(_claim_rotate(kept))
    parts.append(_claim_freeze(kept))
    parts.append(_claim_placed(kept))
    parts.append(_claim_oracle(kept))
    parts.append(_claim_best(kept))
    return "\n".join(parts)


NOT_YET = "Not run yet on this machine; `scripts/open-world` does.\n"
NOT_RUN = "Not checked: that was not run yet (`scripts/open-world --only embeddings`)."
SPLIT = {"FB122": "testI", "WN18RR": "test"}
OFFLINE_OF_PAPER = {"FB122": 0.471, "WN18RR": 0.48}


def _ends(kept: Kept, benchmark: str) -> dict[str, float]:
    """The MRR of each system after the last batch, on all facts of the split of the paper."""
    found = {}
    for system in sorted({one["system"] for one in kept.streams if one["benchmark"] == benchmark}):
        last = kept.last(benchmark, system)
        found[system] = fmean(mrr_of(record, SPLIT[benchmark], "all") or 0.0 for record in last)
    return found


def _verdict(holds: bool) -> str:
    return "Holds" if holds else "Does not hold"


def _checked(claim: str, found: Sequence[str]) -> str:
    """A claim, and the sentences that say how far it holds."""
    sentences = ". ".join(found) + "." if found else NOT_RUN
    return f"**{claim}** {sentences}\n"


def _claim_rotate(kept: Kept) -> str:
    claim = (
        "(i) RotatE loses at least 8 points of MRR online on FB122, and 11 on WN18RR, "
        "against itself offline."
    )
    found = []
    for benchmark, points in (("FB122", 0.08), ("WN18RR", 0.11)):
        ours = [
            one
            for one in kept.offline
            if one["benchmark"] == benchmark and one["system"] == "RotatE, offline"
        ]
        online = {name: mrr for name, mrr in _ends(kept, benchmark).items() if name.endswith("%")}
        if not online:
            continue
        best = max(online, key=online.__getitem__)
        ends = f"{best}, the best of them, ends at {online[best]:.3f}"
        begins = mrr_of(kept.of(benchmark, best)[0], SPLIT[benchmark], "all") or 0.0
        since = f"with the seed graph it had {begins:.3f}"
        reference = mrr_of(ours[0], SPLIT[benchmark], "all") if ours else None
        if reference is None:
            by_paper = f"RotatE offline has {OFFLINE_OF_PAPER[benchmark]:.3f} by the paper"
            trained = "with our dimension and epochs it was not trained offline yet"
            found.append(f"Not settled on {benchmark}: {ends}; {since}; {by_paper}, {trained}")
        else:
            lost = reference - online[best]
            offline_mrr = f"{lost:.3f} below itself offline ({reference:.3f})"
            found.append(f"{_verdict(lost >= points)} on {benchmark}: {ends}, {offline_mrr}")
    return _checked(claim, found)


def _claim_freeze(kept: Kept) -> str:
    claim = "(ii) With frozen embeddings MRR deteriorates quickly after a certain point."
    found = []
    for benchmark in STREAMED:
        frozen = [name for name in kept.embeddings(benchmark) if "Freeze" in name]
        for name in frozen:
            by_batch = [
                mrr_of(record, SPLIT[benchmark], "all") or 0.0
                for record in kept.of(benchmark, name)
            ]
            fall = max(by_batch) - by_batch[-1]
            found.append(
                f"{_verdict(fall > 0.02)} for {name} on {benchmark}: "
                f"from {max(by_batch):.3f} at best to {by_batch[-1]:.3f}"
            )
    return _checked(claim, found)


def _claim_placed(kept: Kept) -> str:
    claim = "(iii) On all facts, RotatE+ is better than RotatE."
    found = []
    for benchmark in STREAMED:
        ends = _ends(kept, benchmark)
        for replay in pictures.REPLAYS:
            plain = ends.get(f"RotatE-{replay}")
            placed = ends.get(f"RotatE+-{replay}")
            if plain is not None and placed is not None:
                found.append(
                    f"{_verdict(placed > plain)} on {benchmark} with {replay} again: "
                    f"{placed:.3f} against {plain:.3f}"
                )
    return _checked(claim, found)


def _claim_oracle(kept: Kept) -> str:
    claim = "(iv) Online almost matches the oracle."
    found = []
    for benchmark in STREAMED:
        differences = []
        for record in kept.of(benchmark, "paper-grinch"):
            online = mrr_of(record, SPLIT[benchmark], "all")
            oracle = mrr_of(record, SPLIT[benchmark], "all", "oracle")
            if online is not None and oracle is not None:
                differences.append(online - oracle)
        if differences:
            largest = max(differences, key=abs)
            last = [
                (mrr_of(one, SPLIT[benchmark], "all") or 0)
                - (mrr_of(one, SPLIT[benchmark], "all", "oracle") or 0)
                for one in kept.last(benchmark, "paper-grinch")
            ]
            found.append(
                f"{_verdict(max(map(abs, last)) <= 0.005)} on {benchmark}: by the paper's settings "
                f"the difference is {largest:+.4f} at most after any batch and any seed, "
                f"and {fmean(last):+.4f} after the last"
            )
    exact = (
        "The default settings have no clusters, and their state is that of a rebuild: "
        "no difference at all"
    )
    return _checked(claim, [*found, exact])


def _claim_best(kept: Kept) -> str:
    claim = "(v) The method comes closest to the best offline result, above all variants of RotatE."
    found = []
    for benchmark in STREAMED:
        ends = _ends(kept, benchmark)
        ours = {name: ends[name] for name in ("default", "paper-grinch") if name in ends}
        online = {name: mrr for name, mrr in ends.items() if name.endswith("%")}
        if not ours:
            continue
        shown = ", ".join(f"{_label(name)} {mrr:.3f}" for name, mrr in ours.items())
        goal = OFFLINE_OF_PAPER[benchmark]
        sentence = f"{benchmark}: {shown}; RotatE offline by the paper {goal:.3f}"
        if online:
            best = max(online, key=online.__getitem__)
            holds = min(ours.values()) > online[best]
            sentence = (
                f"{_verdict(holds)} on {sentence}; {best}, the best online, {online[best]:.3f}"
            )
        found.append(sentence)
    return _checked(claim, found)


WORK = """## Work for a batch

![Entities that come and change with each batch](open-world-work.svg)

The paper's figure 4: how many entities come with a batch, how many others get relations that they
did not have, and, by the paper's settings, how many others GRINCH puts into another cluster.
The line at the top is all entities, for which the oracle works.

![Seconds of an update beside a rebuild](open-world-seconds.svg)

A batch changes more facts than following them would be worth (256), so everything is counted
anew. The newcomers that come alone are what an update is for: hits change only for the entities on
cycles through new facts (A.4), and all other counts catch up when they are asked for. *Newcomer,
answer* is the time from its facts to the first answer about it. Medians over all batches and seeds,
in seconds:

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
        for system in ("default", "paper-grinch"):
            later = [record for record in kept.of(benchmark, system) if record["batch"]]
            alone = [step for record in later for step in record["alone"]]
            if alone:
                lines.append(
                    [
                        f"{benchmark}, {_label(system)}",
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

The table of A.5, on FB122 by the paper's settings: clusters that newcomers joined, with entities
that were there before.

"""
CLUSTERS_SHOWN = 6
BATCHES_SHOWN = 3
MEMBERS = 4
LARGEST_SHOWN = 400  # members; the largest clusters hold all kinds of things


def clusters_section(kept: Kept) -> str:
    """The table of example clusters."""
    names = _names("FB122")
    lines: list[list[str]] = []
    seen: set[str] = set()
    for record in kept.of("FB122", "paper-grinch"):
        if record["seed"] != FIRST_SEED or not record["batch"]:
            continue
        for example in record["examples"]:
            first = example["members"][0]
            is_new = first not in seen and example["size"] <= LARGEST_SHOWN
            if is_new and len(example["newcomers"]) > 1 and len(lines) < CLUSTERS_SHOWN:
                seen.add(first)
                members = [names.get(one, one) for one in example["members"][:MEMBERS]]
                newcomers = [names.get(one, one) for one in example["newcomers"][:MEMBERS]]
                lines.append(
                    [
                        str(record["batch"]),
                        f"{example['size']:,}",
                        ", ".join(members),
                        ", ".join(newcomers),
                    ]
                )
    if not lines:
        return CLUSTERS + NOT_YET
    return CLUSTERS + table(lines, ("batch", "entities", "there before", "newcomers"))


def _names(benchmark: str) -> dict[str, str]:
    """What entities are called."""
    file = located(benchmark) / "entity_names.txt.gz"
    return {said.name: said.label for said in read_names(file) if said.label}


CHANGES = """## Relations that arrive, facts that go

The paper tries neither. All facts are there but those of the relation that is asked about most;
it arrives; a tenth of all facts goes, and returns. *A rebuild*: every count is the one that the
facts give in one go. *As ever*: every rank is that of a graph that always had all facts.

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
        "a rebuild",
        "as ever",
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
        seconds = next(one["seconds"] for one in kept.lifelong if one["snapshot"] == snapshot)
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
second comes as newcomers. All entities of the second graph are ranked; beside it Hits@10 among 50
sampled ones. *Tuned* chooses how far to walk and how to combine evidence, by facts that are held
out of the graph that is known. Published rows: full ranking as collected by MoKGR (EMNLP 2025,
table 6), from a copy whose cells had shifted: check before quoting.

"""
INDUCTIVE_PUBLISHED = {
    "WN18RR_v1": (".668", ".684", ".701", ".733", ".775"),
    "WN18RR_v2": (".645", ".652", ".690", ".715", ".761"),
    "fb237_v1": (".363", ".307", ".369", ".310", ".396"),
    "fb237_v2": (".433", ".369", ".469", ".471", ".497"),
    "nell_v1": (".615", ".584", ".637", ".644", ".718"),
}


def inductive_section(kept: Kept) -> str:
    """GraIL."""
    header = ("pair", "known", "tuned", "MRR", "H@1", "H@10", "H@10 of 50", "seconds")
    lines = []
    for record in kept.inductive:
        lines.append(
            [
                record["pair"],
                "after the first" if record["with_first"] else "alone",
                "yes" if record["tuned"] else "",
                f"{record['fully']['mrr']:.3f}",
                f"{record['fully']['hits_at_1']:.3f}",
                f"{record['fully']['hits_at_10']:.3f}",
                f"{record['sampled']['hits_at_10']:.3f}",
                f"{record['seconds']:.1f}",
            ]
        )
    published = [
        [f"*{pair}*", *(f"*{figure}*" for figure in figures)]
        for pair, figures in INDUCTIVE_PUBLISHED.items()
    ]
    names = ("MRR, published", "RuleN", "NBFNet", "RED-GNN", "AdaProp", "MoKGR")
    return INDUCTIVE + table(lines, header) + "\n" + table(published, names)


EMBEDDINGS = """## Embeddings

By PyKEEN, with fewer dimensions and epochs than in the papers, so that one processor can train
them: the columns say which, and published figures stand beside ours. Training stops when facts of
valid are no longer answered better, as in the paper. casegraph trains nothing: 0 seconds.

In the stream, the model of the seed graph is the same for all variants of RotatE, and goes on with
the facts of each batch. *RotatE+* puts newcomers where their neighbours would have them;
*RotatE-Freeze* keeps the embeddings of entities that were there before. The percentage is how many
of the older facts are trained on again, those near newcomers ten times as likely.

"""
OFFLINE = """
Offline, all facts of train at once:

"""
EMBEDDINGS_PUBLISHED = (
    ("KALE-Joint", ".325", ".684", ".523"),
    ("ASR-DistMult", ".330", ".948", ".675"),
    ("ASR-ComplEx", ".338", ".984", ".698"),
    ("KBlr", "", "", ".702"),
    ("TransE", ".296", ".630", ".480"),
    ("DistMult", ".313", ".874", ".628"),
    ("ComplEx", ".329", ".887", ".641"),
    ("GNTP", ".313", ".977", ".678"),
    ("RotatE", ".471", ".846", ".678"),
    ("CBR", ".359", ".636", ".527"),
    ("the paper's own", ".457", ".948", ".727"),
)


def embeddings_section(kept: Kept) -> str:
    """Embeddings beside the published rows."""
    return EMBEDDINGS + _streamed_embeddings(kept) + OFFLINE + _offline_embeddings(kept)


def _streamed_embeddings(kept: Kept) -> str:
    """How the embeddings of the stream were trained, and how long."""
    header = ("in the stream", "dimension", "epochs, at most", "epochs", "training s", "MRR, all")
    lines = []
    for benchmark in STREAMED:
        for system in kept.embeddings(benchmark):
            records = kept.of(benchmark, system)
            training = records[0]["training"]
            last = kept.last(benchmark, system)
            lines.append(
                [
                    f"{benchmark} {SPLIT[benchmark]}, {system}",
                    str(training["dimension"]),
                    str(training["epochs"]),
                    str(sum(record["trained"]["epochs"] for record in records)),
                    f"{sum(record['trained']['seconds'] for record in records):,.0f}",
                    _mean([mrr_of(record, SPLIT[benchmark], "all") or 0.0 for record in last]),
                ]
            )
    if not lines:
        return "None were streamed on this machine yet.\n"
    training = _trainings(kept)[0]
    return (
        f"{table(lines, header)}\nEpochs and seconds, of one processor, are those of all batches. "
        f"Learning rate {training['learning_rate']:g}; {training['negatives']} wrong answers for "
        f"each step of {training['batch']:,} questions; {training['valid']} facts of valid asked "
        f"for every {training['every']} epochs, and an end when they are answered no better "
        f"{training['patience']} times.\n"
    )


def _trainings(kept: Kept) -> list[Record]:
    """How the embeddings of the stream were trained, each time."""
    return [record["training"] for record in kept.streams if "training" in record]


def _offline_embeddings(kept: Kept) -> str:
    header = ("model", "benchmark", "MRR", "H@10", "dimension", "epochs", "training s")
    lines = []
    for record in kept.offline:
        for split, groups in record["metrics"]["online"].items():
            lines.append(
                [
                    record["training"]["model"],
                    f"{record['benchmark']} {split}",
                    f"{groups['all'][MRR]:.3f}",
                    f"{groups['all']['both.realistic.hits_at_10']:.3f}",
                    str(record["training"]["dimension"]),
                    str(record["trained"]["epochs"]),
                    f"{record['trained']['seconds']:,.0f}",
                ]
            )
    measured = table(lines, header) if lines else "None were trained on this machine yet.\n"
    missing = _not_trained(kept)
    if lines and missing:
        measured += f"\nNot trained yet on this machine: {', '.join(missing)}.\n"
    published = [[f"*{name}*", *figures] for name, *figures in EMBEDDINGS_PUBLISHED]
    names = ("FB122, published in the paper's table 2", "test-I", "test-II", "test")
    more = (
        "\nThe paper's table 3 has, for WN18RR (MRR): TransE .23, DistMult .43, ComplEx .44, "
        "ConvE .43,\nRotatE .48, GNTP .43, MINERVA .43, CBR .43, its own .48. "
        "[Results](results.md) has what casegraph\nmeasures on the same tests.\n"
    )
    return measured + "\n" + table(published, names) + more


def _not_trained(kept: Kept) -> list[str]:
    """The models that are not trained offline yet."""
    trained = {(one["benchmark"], one["training"]["model"]) for one in kept.offline}
    return [
        f"{model} on {benchmark}"
        for benchmark in ("UMLS", "FB122")
        for model in MODELS
        if (benchmark, model) not in trained
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

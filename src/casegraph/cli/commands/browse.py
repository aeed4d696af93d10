"""Commands for exploring: relations, search, entity."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from casegraph.cli.group import cli
from casegraph.cli.options import as_of, top, with_columns
from casegraph.cli.output import Result, escaped, note, with_format

if TYPE_CHECKING:
    from casegraph.cli.reader import Read
    from casegraph.graph.directions import PathStep
    from casegraph.graph.facts import Fact

FACTS_SHOWN = 5  # of a direction of a relation
LIKES_SHOWN = 5
FEW_ANSWERS = 2.0  # tails of a head on average
RELATION_COLUMNS = (
    "relation",
    "label",
    "facts",
    "heads",
    "tails",
    "per_head",
    "per_tail",
    "answers",
    "example",
)


@cli.command()
@click.argument("source")
@as_of
@with_columns
@with_format
def relations(source: str, *, as_of: int | None, read: Read) -> Result:
    """List the relations of SOURCE with counts and an example.

    The column answers says whether a head has one tail, a few or many.

    \b
    Example:
        casegraph relations world
    """
    from casegraph.cli.loader import case_base
    from casegraph.graph.descriptions import is_iri
    from casegraph.graph.directions import backward, forward

    cases = case_base(source, as_of=as_of, read=read)
    graph = cases.graph
    label = cases.descriptions.label
    rows: list[dict[str, Any]] = []
    for relation, name in enumerate(graph.relations.names):
        edges = graph.edges(forward(relation))
        facts = len(edges.tails)
        if not facts:
            continue
        heads = len(edges.heads)
        tails = len(graph.edges(backward(relation)).heads)
        head, _, tail = graph.rows(forward(relation))[0].tolist()
        example = f"{label(graph.entities[head])} → {label(graph.entities[tail])}"
        per_head = facts / heads
        per_tail = facts / tails
        answers = _answers_in_words(per_head)
        found = (
            name,
            label(name),
            facts,
            heads,
            tails,
            per_head,
            per_tail,
            answers,
            example,
        )
        rows.append(dict(zip(RELATION_COLUMNS, found, strict=True)))
    rows.sort(key=lambda row: (-row["facts"], row["relation"]))
    have_labels = any(row["label"] != row["relation"] for row in rows)
    columns = list(RELATION_COLUMNS)
    if not have_labels:
        columns.remove("label")
    shown = [column for column in columns if column not in ("per_head", "per_tail")]
    if have_labels and all(is_iri(row["relation"]) for row in rows):
        shown.remove("relation")  # an IRI is no easier to read than the label
    values = [tuple(row[column] for column in columns) for row in rows]
    return Result(tuple(columns), values, shown=tuple(shown))


@cli.command()
@click.argument("source")
@click.argument("words", nargs=-1, required=True)
@top
@as_of
@with_columns
@with_format
def search(
    source: str, words: tuple[str, ...], *, top: int, as_of: int | None, read: Read
) -> Result:
    """Find entities of SOURCE whose name or label contains all WORDS.

    Case and accents do not matter, and a part of a word is enough.

    \b
    Example:
        casegraph search world curie
    """
    from casegraph.cli.loader import case_base

    cases = case_base(source, as_of=as_of, read=read)
    found = cases.search(" ".join(words), top)
    if not found:
        note(f"no entity has {' '.join(words)!r} in its name or label")
    if len(cases.descriptions):
        return Result(
            ("entity", "label", "types", "facts"), [tuple(hit) for hit in found]
        )
    return Result(("entity", "facts"), [(hit.entity, hit.facts) for hit in found])


@cli.command()
@click.argument("source")
@click.argument("name")
@as_of
@with_columns
@with_format
def entity(source: str, name: str, *, as_of: int | None, read: Read) -> Result:
    """Show the facts of the entity NAME in SOURCE, and the entities most similar to it.

    \b
    Example:
        casegraph entity world "Marie Curie"
    """
    from casegraph.cli.loader import case_base
    from casegraph.graph.lookup import kinds_in

    cases = case_base(source, as_of=as_of, read=read)
    chosen = cases.entity(name)
    facts = cases.graph.facts_of(chosen)
    described = cases.descriptions.of(chosen)
    types = described.types or kinds_in(chosen)
    likes = [
        like for like in cases.similar(chosen, top=LIKES_SHOWN) if like.similarity > 0
    ]
    document = {
        "entity": chosen,
        "label": described.label,
        "types": list(types),
        "facts": [fact._asdict() for fact in facts],
        "like": [
            {"entity": like.entity, "similarity": like.similarity} for like in likes
        ],
    }

    def text() -> str:
        label = cases.descriptions.label
        title = label(chosen)
        if title != chosen:
            title += f"  [{chosen}]"
        if types:
            title += f"  ({', '.join(map(label, types))})"
        lines = [title]
        for step, others in _grouped(facts, chosen).items():
            shown = ", ".join(map(label, others[:FACTS_SHOWN]))
            more = (
                f" and {len(others) - FACTS_SHOWN:,} more"
                if others[FACTS_SHOWN:]
                else ""
            )
            lines.append(f"  {step.text(label)}: {shown}{more}")
        if likes:
            near = [f"{label(like.entity)} ({like.similarity:.2f})" for like in likes]
            lines.append(f"  most like it: {', '.join(near)}")
        return escaped("\n".join(lines), kept="\n")

    return Result(("head", "relation", "tail"), list(facts), document, text)


def _answers_in_words(per_head: float) -> str:
    """How many answers a question about the tail of a relation has, in a word."""
    if per_head == 1:
        return "one"
    return "few" if per_head < FEW_ANSWERS else "many"


def _grouped(facts: list[Fact], name: str) -> dict[PathStep, list[str]]:
    """The other ends of facts, by relation and direction."""
    from casegraph.graph.directions import PathStep

    groups: dict[PathStep, list[str]] = {}
    for head, relation, tail in facts:
        step = PathStep(relation, inverse=head != name)
        groups.setdefault(step, []).append(head if step.inverse else tail)
    return groups

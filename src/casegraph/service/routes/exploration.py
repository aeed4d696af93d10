"""Routes for exploring: entities, relations, types, clusters, overview."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from casegraph import __version__
from casegraph.answering.questions import End
from casegraph.casebase import CaseBase
from casegraph.service import models
from casegraph.service.core import Service
from casegraph.service.models import MAX_NAME, MAX_ROWS
from casegraph.service.pages import cursor_of
from casegraph.service.requests import AsOf, CursorText, Limit, Reading, Serving
from casegraph.service.views import clusters, overviews

router = APIRouter(prefix="/v1", tags=["looking"])

NameQuery = Annotated[str, Query(min_length=1, max_length=MAX_NAME)]
TopQuery = Annotated[int, Query(ge=1, le=MAX_ROWS, description="How many.")]
ClusterNumber = Annotated[int, Query(ge=0, le=2**31 - 1)]


@router.get("/info")
async def info(service: Serving, as_of: AsOf = None) -> models.Info:
    """What the store holds, what it is tuned to, and what the service allows.

    It has no ETag: it also says how the service does, which can change without an update.
    """
    return await service.read_at(as_of, lambda cases: _info(cases, service))


def _info(cases: CaseBase, service: Service) -> models.Info:
    overview = overviews.overview(cases)
    settings = cases.settings.as_dict()
    settings.pop("tuning", None)
    return models.Info(
        name=service.name,
        version=__version__,
        sequence=cases.state.sequence,
        first_sequence=service.first_sequence,
        facts=len(cases.graph),
        entities=overview.entities,
        relations=overview.relations,
        described=len(cases.descriptions),
        tuned=cases.settings.tuning is not None,
        writable=service.is_writable,
        with_keys=len(service.keys) > 0,
        ready=service.is_ready,
        largest=overview.largest,
        degrees=overview.degrees,
        limits=asdict(service.limits),
        settings=settings,
    )


@router.get("/suggestions")
async def suggestions(reading: Reading, top: TopQuery = 8) -> models.Suggestions:
    """Questions to begin with."""
    held_back = reading.service.questions
    return await reading(
        None, lambda cases: overviews.suggestions(cases, held_back, top), slow=True
    )


@router.get("/entity")
async def entity(
    reading: Reading,
    entity: NameQuery,
    cluster: Annotated[
        bool, Query(description="Whether to say which cluster it is in.")
    ] = False,
    limit: Limit = 100,
    cursor: CursorText = None,
    as_of: AsOf = None,
) -> models.Entity:
    """What is known of an entity: its types, its profile, and a page of its facts."""
    at = cursor_of(cursor, as_of)

    def page(cases: CaseBase) -> models.Entity:
        shown, is_more = overviews.entity(
            cases, entity, at.first, limit, cluster=cluster
        )
        return at.paged(shown, limit, is_more=is_more)

    return await reading(at.sequence, page, slow=cluster)


@router.get("/search")
async def search(
    reading: Reading,
    words: Annotated[str, Query(max_length=MAX_NAME)],
    top: TopQuery = 10,
    as_of: AsOf = None,
) -> models.SearchResponse:
    """The entities whose name or label has all these words in it, the best first."""
    return await reading(
        as_of, lambda cases: overviews.search(cases, words, top), slow=True
    )


@router.get("/relations")
async def relations(
    reading: Reading, limit: Limit = 100, cursor: CursorText = None, as_of: AsOf = None
) -> models.Relations:
    """A page of the relations, those with most facts first."""
    return await reading.page(cursor_of(cursor, as_of), limit, overviews.relations)


@router.get("/types")
async def types(reading: Reading, as_of: AsOf = None) -> models.Types:
    """The types of entities, the most frequent first."""
    return await reading(as_of, overviews.types, slow=True)


@router.get("/clusters")
async def all_clusters(
    reading: Reading, limit: Limit = 50, cursor: CursorText = None, as_of: AsOf = None
) -> models.ClusterPage:
    """A page of the clusters, the largest first."""
    return await reading.page(cursor_of(cursor, as_of), limit, clusters.clusters)


@router.get("/clusters/tree")
async def tree(reading: Reading, as_of: AsOf = None) -> models.Tree:
    """The tree of clusters, from its root down to the clusters."""
    return await reading(as_of, clusters.tree, slow=True)


@router.get("/clusters/members")
async def members(
    reading: Reading,
    cluster: ClusterNumber,
    limit: Limit = 100,
    cursor: CursorText = None,
    as_of: AsOf = None,
) -> models.ClusterMembers:
    """A page of the members of a cluster, the most prominent first."""

    def rows(
        cases: CaseBase, first: int, count: int
    ) -> tuple[models.ClusterMembers, bool]:
        return clusters.members(cases, cluster, first, count)

    return await reading.page(cursor_of(cursor, as_of), limit, rows)


@router.get("/path-types")
async def path_types(
    reading: Reading,
    relation: NameQuery,
    wanted: End = "tail",
    cluster: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    top: TopQuery = 20,
    as_of: AsOf = None,
) -> models.PathTypes:
    """The best path types of a relation: for a cluster, as the paper's table 6, or everyone."""
    return await reading(
        as_of,
        lambda cases: clusters.path_types(cases, relation, wanted, cluster, top),
        slow=True,
    )

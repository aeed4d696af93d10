"""
Counts of path types as columns, and the checks that they are consistent.

A case file, a generation of a store and a file of counts all hold a table with a row for each path
type of a relation. These functions check that a table which was read could have been counted.
"""

import numpy as np

from casegraph.graph.arrays import Counts, Ids
from casegraph.statistics.path_types import are_path_types, lengths

TYPES = "types"  # the column with the path types
COUNT_COLUMNS = ("hits", "reached", "right", "reached_open", "right_open", "left_out")
REACH_COLUMNS = COUNT_COLUMNS[1:]  # the counts of the ends of paths
NEVER_MORE = (  # the first of each pair is never more than the second
    ("right", "reached"),
    ("reached_open", "reached"),
    ("right_open", "right"),
    ("right_open", "reached_open"),
)


def check_types_and_counts(
    types: Counts,
    columns: dict[str, Counts],
    directions: int,
    max_length: int,
) -> None:
    """`ValueError` unless these can be path types with what was counted for each.

    types       (rows,)  packed path types (see `statistics.path_types`)
    columns     (rows,) each, by name; there are always hits
    directions  how many relations there are, counting both directions
    """
    for column in (types, *columns.values()):
        if column.dtype != np.int64 or column.shape != types.shape:
            raise ValueError("counts are not whole numbers, one for each path type")
    for column in (types, *columns.values()):
        if (column < 0).any():
            raise ValueError("a count or a path type is below zero")
    if not are_path_types(types, directions, max_length):
        raise ValueError("a path type names a relation that does not exist")
    if not columns["hits"].all():
        raise ValueError("a path type without hits is counted")


def check_reach(relation: Ids, counted: Ids, columns: dict[str, Counts]) -> None:
    """`ValueError` unless these can be the ends that path types reach.

    relation  (rows,)  the relation (a direction) of each row
    counted   the relations for which the `REACH_COLUMNS` were counted
    columns   (rows,) each, by name
    """
    for part, whole in NEVER_MORE:
        if (columns[part] > columns[whole]).any():
            raise ValueError("more is right than reached")
    is_uncounted = ~np.isin(relation, counted)
    for name in REACH_COLUMNS:
        if columns[name][is_uncounted].any():
            raise ValueError(
                "it is counted what paths of a relation reach that was not counted"
            )


def is_extent(extent: list[int], types: Counts, max_length: int) -> bool:
    """Whether these numbers can say how far paths were counted, for rows with these path types.

    extent  the length up to which all paths are counted, and the headroom: how many more cycles
            may be added before there could be too many to count
    """
    if len(extent) != 2:
        return False
    longest, _ = extent
    longest_found = int(lengths(types, max_length).max(initial=0))
    return longest_found <= longest <= max_length

"""Values derived from a state are cached under functions and arguments, not under strings."""

import ast

from tests.test_architecture import FILES, name_of

from casegraph.answering.cache import PerSource, PerState
from casegraph.answering.state import State
from casegraph.casebase import CaseBase

LOOKUPS = {"get", "setdefault", "pop"}  # of a dictionary
TYPES = {"tuple", "dict", "Literal", "Callable", "Annotated"}


def states() -> tuple[State, State]:
    cases = CaseBase()
    cases.update(add=[("a", "r", "b")])
    before = cases.state
    cases.update(add=[("b", "r", "c")])
    return before, cases.state


def keys_in(tree: ast.AST) -> list[ast.expr]:
    """What is looked up or stored in a dictionary, as far as one can see."""
    keys: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            is_type = isinstance(node.value, ast.Name) and node.value.id in TYPES
            if not is_type:
                keys.append(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_lookup = node.func.attr in LOOKUPS
            keys += node.args[:1] if is_lookup else []
    return keys


def begins_with_string(key: ast.expr) -> bool:
    if not isinstance(key, ast.Tuple) or not key.elts:
        return False
    first = key.elts[0]
    return isinstance(first, ast.Constant) and isinstance(first.value, str)


def test_no_key_is_a_tuple_that_begins_with_a_string() -> None:
    found = [
        f"{name_of(file)}:{key.lineno}: {ast.unparse(key)}"
        for file in FILES
        for key in keys_in(ast.parse(file.read_text(encoding="utf-8")))
        if begins_with_string(key)
    ]
    assert not found


def test_a_value_is_computed_once_for_each_state_and_arguments() -> None:
    calls: list[int] = []

    @PerState
    def facts_plus(state: State, more: int) -> int:
        calls.append(more)
        return len(state.graph) + more

    before, after = states()
    assert not facts_plus.is_cached(before, 1)
    found = [facts_plus(state, more) for state in (before, after) for more in (1, 2, 1)]
    assert found == [2, 3, 2, 3, 4, 3]
    assert calls == [1, 2, 1, 2]
    assert facts_plus.is_cached(before, 1)


def test_states_that_follow_each_other_share_what_comes_from_the_same_source() -> None:
    calls: list[list[int]] = []

    @PerSource
    def total(state: State, numbers: list[int], more: int) -> int:
        calls.append(numbers)
        return sum(numbers) + more

    one, other = [1, 2], [1, 2]
    before, after = states()
    assert [total(before, one, 3), total(after, one, 3)] == [6, 6]
    assert len(calls) == 1
    assert total(after, other, 3) == 6
    assert calls[1] is other

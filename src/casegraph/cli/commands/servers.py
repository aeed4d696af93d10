"""Commands that serve: serve, mcp."""
# ruff: noqa: D301  (click reads \b, a control character, as: keep these lines)

from __future__ import annotations

import gc
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from casegraph.cli.group import cli
from casegraph.cli.output import note
from casegraph.errors import CasegraphError, several

if TYPE_CHECKING:
    from casegraph.graph.facts import Fact
    from casegraph.storage.store.store import CaseStore

KEYS = "A file of keys: 'read KEY' or 'write KEY' per line."
ALLOW = "Another host name of the service; repeatable."
PORT = 8321


@cli.command()
@click.argument("folder")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen on."
)
@click.option(
    "--port", default=PORT, show_default=True, help="The port; 0 for any free one."
)
@click.option("--keys", type=click.Path(path_type=Path), metavar="FILE", help=KEYS)
@click.option("--allow-host", multiple=True, metavar="NAME", help=ALLOW)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--check", is_flag=True, help="Only print what would be served, and where."
)
def serve(
    folder: str,
    *,
    host: str,
    port: int,
    keys: Path | None,
    allow_host: tuple[str, ...],
    is_opened: bool,
    check: bool,
) -> None:
    """Serve the store in FOLDER over HTTP, with a web page.

    The store is created if FOLDER is empty or missing. The word world serves the bundled graph
    and does not keep changes. Without keys, only this computer can connect.

    \b
    Example:
        casegraph serve store --check
    """
    try:
        from casegraph.service.core import Service
        from casegraph.service.keys import read_keys
        from casegraph.service.server import Server, check_address
    except ModuleNotFoundError as error:
        advice = "install the extra: pip install casegraph[service]"
        message = f"{error.name} is not installed; {advice}"
        raise CasegraphError(message) from error
    from casegraph.storage.store.store import CaseStore

    known_keys = read_keys(keys)
    check_address(host, known_keys)
    with ExitStack() as stack:
        is_world = folder == "world"
        place = stack.enter_context(TemporaryDirectory()) if is_world else folder
        store = stack.enter_context(CaseStore.open(place))
        if check:
            readers = f"those with one of {several(len(known_keys), 'key')}"
            allowed = readers if known_keys else "this computer only"
            served = _in_words(store, folder)
            click.echo(f"would serve {served} at http://{host}:{port}/ to {allowed}")
            return

        service = Service(
            store,
            known_keys,
            name=Path(folder).name,
            questions=_bundled(store) if is_world else (),
        )
        server = Server(service, host, port, allow_host)
        note(f"{_in_words(store, folder)} is at {server.address}/ (Ctrl-C ends it)")
        if is_opened:
            click.launch(f"{server.address}/")
        gc.freeze()  # what is there by now stays; to look for cycles in it would stop all requests
        server.run()


@cli.command()
@click.argument("folder")
@click.option("--write", is_flag=True, help="Also allow adding and retracting facts.")
@click.option("--http", is_flag=True, help="Use HTTP on this computer instead.")
@click.option(
    "--port", default=PORT + 1, show_default=True, help="The port, with --http."
)
@click.option("--check", is_flag=True, help="Only print what would be offered.")
def mcp(folder: str, *, write: bool, http: bool, port: int, check: bool) -> None:
    """Offer the store in FOLDER to language models as tools.

    Speaks the Model Context Protocol over standard input and output: give this command to the
    program that runs the model.

    \b
    Example:
        casegraph mcp store --check
    """
    from casegraph.storage.store.store import CaseStore

    with CaseStore.open(folder, read_only=not write) as store:
        if check:
            click.echo(
                f"would offer {_in_words(store, folder)} "
                f"{'to read and to write' if write else 'to read'}"
            )
            return
        try:
            from casegraph.service.tools import server
        except ModuleNotFoundError as error:
            advice = "install the extra: pip install casegraph[mcp]"
            message = f"{error.name} is not installed; {advice}"
            raise CasegraphError(message) from error
        offered = server(store, writes=write)
        if http:
            offered.run("streamable-http", port=port)
        else:
            offered.run("stdio")


def _in_words(store: CaseStore, folder: str) -> str:
    facts = several(len(store.graph), "fact")
    return f"{Path(folder).name} ({facts} after update {store.sequence:,})"


def _bundled(store: CaseStore) -> list[Fact]:
    """Fill a store with the bundled graph, and tune it to that; returns what to ask it."""
    from casegraph import world
    from casegraph.cli.commands.demo import AT_LENGTH
    from casegraph.cli.progress import progress

    store.update(add=world.facts())
    with progress() as show:
        store.tune(show)
    first = {fact.head: fact for fact in reversed(world.questions())}
    return [first[name] for name in AT_LENGTH]

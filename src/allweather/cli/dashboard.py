"""`dashboard`: web pages of the studies of a database."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import Annotated

import typer

from allweather.cli.app import app, print_line
from allweather.cli.options import JsonOption, SharedOptions, StorageOption
from allweather.errors import InvalidInput

Token = Annotated[
    str | None,
    typer.Option(
        envvar="ALLWEATHER_TOKEN",
        show_envvar=True,
        help="access token; required if other machines can reach the address",
    ),
]
Names = Annotated[
    list[str] | None, typer.Option("--host-name", metavar="NAME", help="further host name to accept (repeatable)")
]


@app.command()
def dashboard(
    storage: StorageOption = None,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes any free port")] = 8080,
    token: Token = None,
    host_name: Names = None,
    memory: Annotated[
        float | None,
        typer.Option(metavar="GB", min=0.1, help="memory for computations; default: half of what there is"),
    ] = None,
    computations: Annotated[int, typer.Option(min=1, max=64, help="of each kind that run at once")] = 1,
    open_it: Annotated[bool, typer.Option("--open", help="open the page in a browser")] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve web pages of the studies in a database, with ask and tell, and a REST API.

    Example: allweather dashboard --storage sqlite:///kiosk.db
    """
    try:
        from allweather.dashboard import ServerConfig, serve
    except ImportError as missing:
        remedy = f"install it with `pip install 'allweather[dashboard]'` ({missing})"
        raise InvalidInput("the dashboard needs FastAPI", remedy=remedy) from None
    limit = None if memory is None else memory * 1e9
    config = ServerConfig(host, port, token, tuple(host_name or ()), limit, computations)
    shared = SharedOptions(storage, None, as_json)
    shared.database().close()  # report database errors before the server starts

    def ready(address: str) -> None:
        shared.print({"address": address}, lambda: print_line(f"Dashboard: {address} (stop with Ctrl-C)"))
        if open_it:
            webbrowser.open(address)

    if serve(shared.url, config, ready):
        # Python cannot end a thread that computes; transactions are atomic, so nothing is half written.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

"""`dashboard`: the studies of a database as live pages in a browser."""

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
        help="what everybody must show; needed wherever others can reach the page",
    ),
]
Names = Annotated[
    list[str] | None, typer.Option("--host-name", metavar="NAME", help="another name of this server (repeatable)")
]


@app.command()
def dashboard(
    storage: StorageOption = None,
    host: Annotated[str, typer.Option(help="the address to answer at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free")] = 8080,
    token: Token = None,
    host_name: Names = None,
    open_it: Annotated[bool, typer.Option("--open", help="open it in a browser")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show studies in a browser, live: look, ask and tell; with a REST interface for programs.

    Example: allweather dashboard --storage sqlite:///kiosk.db
    """
    try:
        from allweather.dashboard import ServerConfig, serve
    except ImportError as missing:
        raise InvalidInput(f"dashboard needs FastAPI: pip install 'allweather[dashboard]' ({missing})") from None
    config = ServerConfig(host, port, token, tuple(host_name or ()))
    shared = SharedOptions(storage, None, as_json)
    shared.database().close()  # an unusable database is reported before the server starts

    def ready(address: str) -> None:
        shared.print({"address": address}, lambda: print_line(f"The studies are at {address} (Ctrl-C ends it)"))
        if open_it:
            webbrowser.open(address)

    if serve(shared.url, config, ready):
        # What is left writes whole transactions or nothing, and Python cannot end a thread that computes.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

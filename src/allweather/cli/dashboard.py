"""`dashboard`: web pages of the studies of a database."""

from __future__ import annotations

import os
import shlex
import stat
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allweather._utils.installation import install_command
from allweather.cli.app import app, print_error, print_line
from allweather.cli.files import read_file
from allweather.cli.options import JsonOption, SharedOptions, StorageOption
from allweather.errors import InvalidInput, require

if TYPE_CHECKING:
    from allweather.dashboard.auth import User

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


Tokens = Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file of tokens with names, full or read-only")]
MemoryLimit = Annotated[
    float | None, typer.Option(metavar="GB", min=0.1, help="memory for computations; default: half of what there is")
]


@app.command()
def dashboard(
    storage: StorageOption = None,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes any free port")] = 8080,
    token: Token = None,
    host_name: Names = None,
    tokens: Tokens = None,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="certificate, for HTTPS")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="private key of the certificate")] = None,
    prefix: Annotated[str, typer.Option(metavar="PATH", help="path under which a reverse proxy shows the pages")] = "",
    log_json: Annotated[bool, typer.Option("--log-json", help="log as JSON lines, with one for each request")] = False,
    memory: MemoryLimit = None,
    computations: Annotated[int, typer.Option(min=1, max=64, help="of each kind that run at once")] = 1,
    open_it: Annotated[bool, typer.Option("--open", help="open the page in a browser")] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve web pages of the studies in a database, with ask and tell, and a REST API.

    Where the current folder has no database yet, one is created, for studies that are made on the pages.

    Example: allweather dashboard --storage sqlite:///kiosk.db
    """
    try:
        from allweather.dashboard import ServerConfig, serve
    except ImportError as missing:
        remedy = f"install it with `{install_command('dashboard')}` ({missing})"
        raise InvalidInput("the dashboard needs FastAPI", remedy=remedy) from None
    limit = None if memory is None else memory * 1e9
    names, users = tuple(host_name or ()), _users(tokens)
    config = ServerConfig(
        host, port, token, names, limit, computations, users, certificate, key, prefix.rstrip("/"), log_json
    )
    shared = SharedOptions(storage, None, as_json)
    shared.database(create=True).close()  # report database errors before the server starts
    for file in (tokens, key):
        _warn_if_public(file, "whoever can log in to this machine can read its secrets")
    if config.guarded:
        _warn_if_public(_database_file(shared.url), "the studies in it can be read on this machine without a token")

    def ready(address: str) -> None:
        shared.print({"address": address}, lambda: print_line(f"Dashboard: {address} (stop with Ctrl-C)"))
        if open_it:
            webbrowser.open(address)

    if serve(shared.url, config, ready):
        # Python cannot end a thread that computes; transactions are atomic, so nothing is half written.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _warn_if_public(file: Path | None, consequence: str) -> None:
    """Warn where every user of this machine may read or write a file; systems other than POSIX have other rights."""
    if file is None or os.name != "posix" or not file.is_file():
        return
    if file.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        print_error(f"warning: {file} is open to all users: {consequence}; run `chmod o-rwx {shlex.quote(str(file))}`")


def _database_file(url: str) -> Path | None:
    from allweather.storage.address import parse_address, sqlite_file

    address = parse_address(url)
    return sqlite_file(address) if address.get_backend_name() == "sqlite" else None


def _users(file: Path | None) -> tuple[User, ...]:
    """Read the users of a file: `ada = { token = "...", access = "full" }`, or `access = "read"`."""
    from allweather.dashboard.auth import User
    from allweather.serialization.checks import TABLE, WORD, below, read
    from allweather.serialization.toml import MAX_FILE_CHARACTERS, parse_toml

    if file is None:
        return ()
    users = []
    for name, table in parse_toml(read_file(file, MAX_FILE_CHARACTERS), file.name).items():
        where = below(file.name, name)
        read({name: table}, file.name, {name: TABLE})
        read(table, where, {"token": WORD}, {"access": WORD})
        access = table.get("access", "full")
        require(access in ("full", "read"), f"{where}.access", "be full or read", access)
        users.append(User(name, table["token"], access == "read"))
    distinct = len({user.token for user in users}) == len(users)
    require(distinct and bool(users), "dashboard --tokens", "hold tokens that differ", f"{len(users)} tokens")
    return tuple(users)

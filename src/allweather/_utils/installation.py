"""How this copy of the package was installed, and the command that installs more of it."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from typing import Any
from urllib.parse import unquote, urlsplit


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from where the package came: an index, a folder or a file.

    Args:
        extra: such as `plots`.
    """
    return command_for(extra, _origin())


def command_for(extra: str, origin: dict[str, Any] | None) -> str:
    """Return the command that installs an extra.

    Args:
        extra: such as `plots`.
        origin: the content of `direct_url.json` (PEP 610); None for a package from an index.

    Example:
        >>> command_for("plots", None)
        "pip install 'allweather[plots]'"
        >>> command_for("plots", {"url": "file:///home/ada/allweather", "dir_info": {"editable": True}})
        "pip install -e '/home/ada/allweather[plots]'"
        >>> command_for("plots", {"url": "https://example.org/allweather.whl", "archive_info": {}})
        "pip install 'allweather[plots] @ https://example.org/allweather.whl'"
    """
    if origin is None:
        return f"pip install {shlex.quote(f'allweather[{extra}]')}"
    url = str(origin.get("url", ""))
    folder = origin.get("dir_info")
    if folder is not None and url.startswith("file:"):
        editable = "-e " if folder.get("editable") else ""
        return f"pip install {editable}{shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    version = origin.get("vcs_info", {}).get("vcs")
    address = f"{version}+{url}" if version else url
    return f"pip install {shlex.quote(f'allweather[{extra}] @ {address}')}"


def _origin() -> dict[str, Any] | None:
    try:
        text = importlib.metadata.distribution("allweather").read_text("direct_url.json")
        return None if text is None else dict(json.loads(text))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None

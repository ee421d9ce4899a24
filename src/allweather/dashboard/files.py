"""Scripts and styles, all from this machine: a page never loads anything from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path

import plotly
from fastapi import APIRouter, Request
from fastapi.responses import Response

from allweather.dashboard.problems import NotHere

HERE = Path(__file__).parent / "static"
HTMX = "htmx-2.0.11.min.js"
PLOTLY = f"plotly-{plotly.__version__}.min.js"
FOREVER = "public, max-age=31536000, immutable"
"""An address that holds its version never changes what it stands for."""
KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
router = APIRouter(prefix="/static", include_in_schema=False)


@cache
def addresses() -> dict[str, str]:
    """The address of each file by its plain name."""
    own = {name: f"/static/{_versioned(HERE / name)}" for name in ("allweather.css", "allweather.js", "mark.svg")}
    return {**own, "htmx": f"/static/{HTMX}", "plotly": f"/static/{PLOTLY}"}


@router.get("/{name}")
def static(request: Request, name: str) -> Response:
    """A file of the package."""
    content, packed = _content(name)
    headers = {"cache-control": FOREVER, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**headers, "content-encoding": "gzip"}, media_type=_kind(name))
    return Response(content, headers=headers, media_type=_kind(name))


@cache
def _paths() -> dict[str, Path]:
    own = {_versioned(HERE / name): HERE / name for name in ("allweather.css", "allweather.js", "mark.svg")}
    foreign = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return {**own, HTMX: HERE / HTMX, PLOTLY: foreign}


@cache
def _read(path: Path) -> tuple[bytes, bytes]:
    content = path.read_bytes()
    return content, gzip.compress(content, 6)


def _content(name: str) -> tuple[bytes, bytes]:
    path = _paths().get(name)
    if path is None:
        raise NotHere("there is no such file")
    return _read(path)


def _kind(name: str) -> str:
    return KINDS[Path(name).suffix]


def _versioned(path: Path) -> str:
    return f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}{path.suffix}"

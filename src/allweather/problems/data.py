"""Data of the papers, from a directory or downloaded once, with checksums."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from allweather.errors import AllweatherError, MissingData, require

DIRECTORY = "ALLWEATHER_DATA"
"""Environment variable: the directory that holds the files."""
ADDRESS = "ALLWEATHER_DATA_URL"
"""Environment variable: the base URL of the files."""
UNCHECKED = "ALLWEATHER_DATA_UNCHECKED"
"""Environment variable: 1 to accept files of other content in the directory, such as those computed again."""
CHECKSUMS = {
    "airfoil": "f8d62c2a958bba7e3c8412d71878478878b61471d7f6cf68ae33ab31377856da",
    "infection": "84b6a9bf739dd42aae596f9799091de6c933767850045056d1608a07369c55ef",
    "plant_5d": "5532b16d5f96ef12315a25b60a2182d78a21786961f54d096c933092eff9cc1c",
    "plant_ph_nh3": "b355d3f1cb1b9a8921cb474bd3c1d6e94a4033d89ef830fac07a8c525a4112d6",
    "portfolio": "3b8454e62833672c8aea87dcb424ce4f49b860c9e88caa657fd04c5188cfd4fd",
    "wind": "2cf40a98c18b8229805c2fdee089c601f1ab2c4143fcbf115ed5a5e3fe542e59",
}
"""SHA-256 of each file."""


def load(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a data file by name.

    The file is read from the directory in `ALLWEATHER_DATA`, or downloaded from the URL in `ALLWEATHER_DATA_URL` to the
    user's cache.

    Example:
        >>> load("weather")
        Traceback (most recent call last):
        allweather.errors.InvalidInput: `load(name=...)` must be one of airfoil, infection, plant_5d, plant_ph_nh3,
        portfolio, wind, got 'weather'
    """
    require(name in CHECKSUMS, "load(name=...)", f"be one of {', '.join(CHECKSUMS)}", name)
    file = f"{name}.npz"
    directory, address = os.environ.get(DIRECTORY), os.environ.get(ADDRESS)
    if directory:
        path = _in_directory(Path(directory), file)
    elif address:
        path = _downloaded(address, file)
    else:
        raise MissingData(
            f"the data file {file} is missing",
            remedy=f"set {DIRECTORY} to a directory that holds it, or {ADDRESS} to a URL to download it from",
        )
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _in_directory(directory: Path, file: str) -> Path:
    path = directory / file
    if not path.is_file():
        raise MissingData(f"the data file {file} is missing in {directory}, the directory in {DIRECTORY}")
    if os.environ.get(UNCHECKED) == "1":
        return path
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != CHECKSUMS[path.stem]:
        raise AllweatherError(
            f"{path} has the wrong content: SHA-256 {found} instead of {CHECKSUMS[path.stem]}; "
            f"{UNCHECKED}=1 accepts a file that was computed again"
        )
    return path


def _downloaded(address: str, file: str) -> Path:
    try:
        import pooch  # type: ignore[import-untyped]
    except ImportError:
        raise AllweatherError(f"downloading {file} needs pooch: `pip install pooch`, or set {DIRECTORY}") from None
    url = f"{address.rstrip('/')}/{file}"
    digest = CHECKSUMS[file.removesuffix(".npz")]
    try:
        # pooch verifies the checksum, also of files in its cache.
        return Path(pooch.retrieve(url, known_hash=f"sha256:{digest}", fname=file, path=pooch.os_cache("allweather")))
    except (OSError, ValueError) as error:
        raise AllweatherError(
            f"the data file {file} could not be downloaded from {url} ({ADDRESS}): {error}; "
            f"set {DIRECTORY} to a directory that holds it instead"
        ) from error

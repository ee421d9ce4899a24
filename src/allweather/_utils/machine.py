"""What the machine gives to this process, addresses on its network, and logs that do not fill its disk."""

from __future__ import annotations

import ipaddress
import logging
import os

REPEATS = 10
"""Log lines from one place in the code that pass in a minute."""


def total_memory() -> float:
    """Return the bytes of memory of this machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # Windows
        return 8e9


def open_files() -> int:
    """Return how many files and connections this process may have open."""
    try:
        import resource
    except ImportError:  # Windows
        return 8192
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**20 if limit < 0 else limit


class RepeatFilter(logging.Filter):
    """Drops log lines that repeat: of those from one place in the code, ten a minute pass."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line passes; the first after a pause says how many were dropped."""
        place = (record.pathname, record.lineno)
        started, count = self._seen.get(place, (record.created, 0))
        if record.created - started > 60:
            if count > REPEATS:
                record.msg = f"{record.msg} ({count - REPEATS} such lines were dropped)"
            started, count = record.created, 0
        self._seen[place] = started, count + 1
        return count < REPEATS


def ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host is given by; None where it is a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def without_port(host: str) -> str:
    """Return a host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (not name.count(":") or name.endswith("]")) else host

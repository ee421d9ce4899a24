"""README as a package index shows it: an index knows no files of the repository, so that links are absolute or text."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!https?:|#|mailto:)[^)\s]+)\)")
"""A link in Markdown to a file of the repository."""


def for_index(text: str, address: str | None, version: str) -> str:
    """Return Markdown without links to files, which are absolute where the repository has an address.

    Args:
        text: Markdown.
        address: of the repository; None for a repository that is published nowhere.
        version: whose tag the links point to.
    """

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link["picture"], link["text"], link["target"]
        if address is None:
            return "" if picture else words
        return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/v{version}/{target})"

    return LINK.sub(absolute, text)


class ReadmeHook(MetadataHookInterface):
    """Fills `readme`; the address is `Repository` in the table `project.urls`."""

    def update(self, metadata: dict) -> None:
        """Set the long description."""
        address = metadata.get("urls", {}).get("Repository")
        text = (Path(self.root) / "README.md").read_text()
        shown = for_index(text, address and address.rstrip("/"), metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}

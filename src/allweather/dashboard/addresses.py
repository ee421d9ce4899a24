"""Names of studies as parts of addresses: any printable name has one, and every one leads back to its name."""

from __future__ import annotations

from urllib.parse import quote, unquote


def segment(name: str) -> str:
    """A name as one part of a path; names of dots alone get a mark, since browsers take them for ways up.

    Example:
        >>> segment("a/b?"), segment("..")
        ('a%2Fb%3F', '..;')
    """
    return quote(name, safe="") + (";" if set(name) == {"."} else "")


def named(part: str) -> str:
    """The name that `segment` made this part of a path of.

    Example:
        >>> [named(segment(name)) for name in ("a/b?", "..", "100%", "x;")]
        ['a/b?', '..', '100%', 'x;']
    """
    return unquote(part.removesuffix(";"))


def file_name(name: str, ending: str) -> str:
    r"""The header that names a download, in plain letters and as it is.

    Example:
        >>> file_name("köln/1", "csv")
        'attachment; filename="k_ln_1.csv"; filename*=UTF-8\'\'k%C3%B6ln%2F1.csv'
    """
    simple = "".join(each if each.isascii() and (each.isalnum() or each in "-.") else "_" for each in name)
    return f"attachment; filename=\"{simple}.{ending}\"; filename*=UTF-8''{quote(f'{name}.{ending}', safe='')}"

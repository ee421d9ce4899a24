import hashlib
import json
import logging
import os
import re
from pathlib import Path

HERE = Path(__file__).parent

project = "allweather"
author = "the allweather authors"
copyright = "2026, the allweather authors"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb"]
html_theme = "furo"
html_title = "allweather"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_search_scorer = str(HERE / "_static" / "scorer.js")
autodoc_typehints = "description"
autodoc_member_order = "bysource"
myst_heading_anchors = 3
exclude_patterns = ["_build"]

PAPER = re.compile(r"(?<![\w`<-])(bocu|kde|phi|subsets|wasserstein)(?=,? (?:Alg|App|Eq|Ex|Fig|Lemma|Sec|Table|Thm)\b)")
"""A paper's key before the number of a section or equation, which links to references.md."""

# Pages that begin with a `file_format: mystnb` header are executed; their output is cached while nothing changes.
_sources = sorted((HERE.parent / "src" / "allweather").rglob("*.py"))
_version = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / _version)
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True


def link_papers(app, what, name, obj, options, lines):
    """Link the papers' keys in docstrings to their citations."""
    lines[:] = [line if "`" in line else PAPER.sub(r":ref:`\1 <\1>`", line) for line in lines]


def setup(app):
    """Link papers; execute pages with SVG figures, without a history, in one thread."""
    app.connect("autodoc-process-docstring", link_papers)
    profile = Path(app.outdir).parent / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    settings = {
        "Application": {"log_level": logging.ERROR},
        "HistoryManager": {"enabled": False},
        "InlineBackend": {"figure_formats": ["svg"]},
        "IPKernelApp": {"matplotlib": "inline"},
    }
    (profile / "ipython_kernel_config.json").write_text(json.dumps(settings))
    os.environ["IPYTHONDIR"] = str(profile.parent)
    os.environ["OMP_NUM_THREADS"] = "1"
    logging.getLogger("traitlets").setLevel(logging.WARNING)

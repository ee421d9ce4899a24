import hashlib
import json
import logging
import os
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
autodoc_typehints = "description"
autodoc_member_order = "bysource"
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# Pages that begin with a `file_format: mystnb` header are run. What they gave is kept until they or the library change.
_sources = sorted((HERE.parent / "src" / "allweather").rglob("*.py"))
_version = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / _version)
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True


def setup(app):
    """Figures are drawn as SVG, the kernel keeps no history, and computes with one thread."""
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

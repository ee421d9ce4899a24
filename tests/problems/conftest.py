from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
NEED_DATA = {"airfoil", "infection", "plant-5d", "plant-ph", "portfolio-normal", "portfolio-uniform", "wind"}


@pytest.fixture(autouse=True)
def _where_the_data_are(request, monkeypatch):
    """Data problems find their files; where there are none, tests that are marked or parametrised for them skip."""
    monkeypatch.delenv("ALLWEATHER_DATA_URL", raising=False)
    monkeypatch.setenv("ALLWEATHER_DATA", str(DATA))
    parameters = getattr(getattr(request.node, "callspec", None), "params", {})
    needed = "data" in request.fixturenames or parameters.get("name") in NEED_DATA
    if needed and not DATA.is_dir():
        pytest.skip(f"the papers' data are not at {DATA}")


@pytest.fixture
def data():
    """The directory of the papers' data; whoever asks for it is skipped where it does not exist."""
    return DATA

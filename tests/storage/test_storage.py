"""Where studies are kept, and how one is opened there."""

import pytest

import allweather as aw
from allweather import InvalidInput
from allweather.storage import Storage


@pytest.mark.parametrize("mistake", [{"expire": 0}, {"expire": float("nan")}, {"url": 7}])
def test_storage_that_is_none(mistake):
    with pytest.raises(InvalidInput, match=r"Storage\("):
        Storage(**{"url": "sqlite:///x.db", **mistake})


SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


def study(url, **options):
    return aw.Study(SPACE, **{"context": aw.KDE(16), "storage": url, "name": "kiosk", "seed": 1, **options})


def test_an_address_is_a_storage_with_a_week_of_patience(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study(url).ask()
    assert len(study(Storage(url, expire=60)).trials()) == 1
    assert Storage(url).expire == 7 * 24 * 3600


def test_a_study_is_resumed_only_as_it_was_made(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study(url).ask()
    for changed in ({"seed": 2}, {"direction": "minimize"}, {"acquisition": aw.Thompson(64)}):
        with pytest.raises(InvalidInput, match="kiosk"):
            study(url, **changed)
    assert study(url).trials()["state"].tolist() == ["pending"]


def test_without_a_storage_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aw.Study(SPACE, seed=1).ask()
    assert list(tmp_path.iterdir()) == []

"""Where studies are kept, and how one is opened there."""

import pytest

from allweather import InvalidInput
from allweather.storage import Storage


@pytest.mark.parametrize("mistake", [{"expire": 0}, {"expire": float("nan")}, {"url": 7}])
def test_storage_that_is_none(mistake):
    with pytest.raises(InvalidInput, match=r"Storage\("):
        Storage(**{"url": "sqlite:///x.db", **mistake})

"""A kiosk with a dozen trials, shown on a free port."""

import pytest
from tests.dashboard.served import fed, serving


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def kiosk(url):
    return fed(url, 12)


@pytest.fixture
def server(kiosk):
    with serving(kiosk) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as program:
        yield program

"""The page on a free port of this machine, and studies to show there."""

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn

from allweather.dashboard import ServerConfig, create_app
from allweather.dashboard.server import _bind, uvicorn_config
from allweather.storage import Database, Event, Journal
from allweather.study import Spec, Study

KIOSK = """
name = "kiosk"
seed = 7
initial = 3
objective = { name = "dro", distance = { name = "tv", radius = 0.2 } }

[context]
name = "kde"
samples = 32

[variables]
order = { lower = 0, upper = 100 }
demand = { lower = 0, upper = 100, context = true }
"""
FARM = """
name = "farm"
seed = 3
initial = 2

[control]
sets = [{ variables = ["ph"], cost = 1 }, { variables = ["ph", "light"], cost = 3 }]
budget = 20

[variables]
ph = { lower = 4, upper = 9 }
light = { lower = 0, upper = 1 }
wood = { options = ["oak", "pine"], context = true }
"""


def profit(order, demand):
    return 9 * min(order, demand) - 5 * order


def made(url, recipe=KIOSK, name=None):
    """A study in a database, not begun."""
    return Study.from_spec(Spec.from_toml(recipe), url, name)


def fed(url, trials, name="kiosk", recipe=KIOSK):
    """A kiosk with so many trials, written at once: of decisions all over the box."""
    made(url, recipe, name)
    journal = Journal.open(Database(url), name)
    events = []
    for number in range(trials):
        order, demand = (37.7 * number) % 100, 45 + 30 * ((0.618 * number) % 1 - 0.5)
        told = {"context": {"demand": demand}, "values": [profit(order, demand)], "failed": False}
        events += [Event("asked", {"number": number, "decision": {"order": order}}, number)]
        events += [Event("told", told, number)]
    if events:
        journal.append(0, events)
    return url


@dataclass(frozen=True)
class Server:
    """A running page."""

    port: int
    app: object
    token: str | None = None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options):
        """As a program; with the token, where there is one."""
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60, **options)


@contextmanager
def serving(url, **config):
    """The page of a database, answering."""
    listening = _bind(ServerConfig(port=0))
    port = listening.getsockname()[1]
    app = create_app(url, ServerConfig(port=port, **config))
    server = uvicorn.Server(uvicorn_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Server(port, app, config.get("token"))
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        app.state.studies.database.close()


def form_token(page):
    """The token that the forms of a page carry."""
    return re.search(r'name="form_token" value="([0-9a-f]+)"', page).group(1)

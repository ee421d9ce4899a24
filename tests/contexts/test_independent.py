import pytest
import scipy.stats
import torch

import allweather as aw
from allweather.serialization import decode_part, encode_part
from allweather.testing import ContextModelSuite

SPACE = aw.Space(x=aw.Real(0, 1), lot=aw.Context(aw.Choice("A", "B")), ambient=aw.Context(0, 40))
SEEN = SPACE.contexts.encode([{"lot": "A", "ambient": each} for each in (12, 18, 20, 22, 28)])
MODEL = aw.Independent(lot=aw.Finite(["A", "B"], [0.25, 0.75]), ambient=aw.Empirical())


def generator():
    return torch.Generator().manual_seed(0)


class TestSuite(ContextModelSuite):
    def make(self, dimension):
        return aw.Independent(**dict([("a", aw.KDE()), ("b", aw.Empirical())][:dimension]))


def test_every_combination_where_there_are_few():
    points, weights = MODEL.on(SPACE).reference(SEEN, 5, generator())
    assert len(points) == 10
    assert float(weights @ points[:, 1]) == pytest.approx(0.75)
    assert 40 * float(weights @ points[:, 2]) == pytest.approx(20)


def test_only_what_is_learned_is_uncertain():
    model = MODEL.on(SPACE)
    reference = model.reference(SEEN, 5, generator())
    drawn = model.resample(SEEN, reference, 500, generator())
    assert torch.allclose(drawn.sum(-1), torch.ones(500, dtype=torch.float64))
    assert float((drawn @ reference.points[:, 1]).std()) < 1e-9
    alone = aw.Empirical()
    column = SEEN[:, 2:]
    own = alone.resample(column, alone.reference(column, 5, generator()), 500, generator())
    spread = float((own @ alone.reference(column, 5, generator()).points[:, 0]).std())
    assert float((drawn @ reference.points[:, 2]).std()) == pytest.approx(spread, rel=0.1)


def test_plain_data_and_back():
    model = aw.Independent(lot=aw.Known({"lot": {"A": 0.3, "B": 0.7}}), ambient=aw.Known(scipy.stats.norm(20, 5)))
    data = encode_part("context", model)
    assert data["lot"]["law"]["lot"] == {"name": "shares", "options": ["A", "B"], "weights": [0.3, 0.7]}
    assert data["ambient"]["law"] == {"ambient": {"name": "norm", "loc": 20, "scale": 5}}
    again = decode_part("context", data, "test")
    assert encode_part("context", again) == data
    points, weights = again.on(SPACE).reference(SEEN, 5, generator())
    assert float(weights @ points[:, 1]) == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda: aw.Independent(),
        lambda: aw.Independent(lot="kde"),
        lambda: aw.Independent(lot=aw.KDE()).on(SPACE),
        lambda: aw.Independent(lot=aw.KDE(), ambient=aw.KDE(), rain=aw.KDE()).on(SPACE),
        lambda: aw.Known({"lot": {"A": 0.5, "B": 0.7}}),
        lambda: aw.Known({"lot": {"A": 0.5, "D": 0.5}, "ambient": scipy.stats.norm(20, 5)}).on(SPACE),
        lambda: aw.Known({"lot": scipy.stats.norm(0, 1), "ambient": scipy.stats.norm(20, 5)}).on(SPACE),
        lambda: aw.Finite([["A", 20], ["B"]]).on(SPACE),
    ],
)
def test_what_does_not_fit(make):
    with pytest.raises(aw.InvalidInput):
        make()


def test_points_of_choices_and_integers_by_position():
    model = aw.Finite([["A", 20], ["B", 30]], [0.4, 0.6])
    points, _ = model.on(SPACE).reference(SEEN, 1, generator())
    assert points.tolist() == [[1, 0, 0.5], [0, 1, 0.75]]
    assert model.among(["ambient"], ["lot", "ambient"]).points.tolist() == [[20], [30]]
    integers = aw.Space(x=aw.Real(0, 1), n=aw.Context(aw.Integer(0, 4)))
    assert aw.Finite([[0], [4]]).on(integers).reference(torch.empty(0, 1), 1, generator()).points.tolist() == [[0], [1]]

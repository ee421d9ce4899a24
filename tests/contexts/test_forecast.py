import pytest
import scipy.stats
import torch

from allweather import Context, Finite, Forecast, InvalidInput, Known, Space
from allweather.testing import ContextModelSuite

NOTHING = torch.empty(0, 1, dtype=torch.float64)


class TestForecast(ContextModelSuite):
    def make(self, dimension):
        return Forecast().given(Finite([[0.3] * dimension]))


def test_a_new_distribution_each_step():
    model = Forecast(lambda step: Finite([[step / 10]]))
    assert model.reference(NOTHING, 3, torch.Generator()).points.item() == 0.3
    assert model.reference(NOTHING, 4, torch.Generator()).points.item() == 0.4
    assert model.given(Finite([[0.9]])).reference(NOTHING, 4, torch.Generator()).points.item() == 0.9


def test_forecasts_speak_the_users_units():
    model = Forecast().on(Space(wind=Context(-10, 10)).contexts).given(Known(scipy.stats.norm(5, 0.01)))
    points = model.reference(NOTHING, 1, torch.Generator().manual_seed(0)).points
    assert points.mean().item() == pytest.approx(0.75, abs=1e-3)


def test_a_missing_forecast_says_so():
    with pytest.raises(InvalidInput, match=r"step 7.*given"):
        Forecast().reference(NOTHING, 7, torch.Generator())
    with pytest.raises(InvalidInput, match="context model"):
        Forecast().given([0.5, 0.5])
    with pytest.raises(InvalidInput, match="function of the step"):
        Forecast(3)
    with pytest.raises(InvalidInput, match="return a context model"):
        Forecast(lambda step: 3).reference(NOTHING, 7, torch.Generator())

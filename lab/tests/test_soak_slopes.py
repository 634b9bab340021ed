"""The slopes that the soak reports."""

from random import Random

from lab.soak.slopes import Slope, slope

SECONDS = range(0, 3600, 5)


def rounded(fitted: Slope) -> tuple[float, ...]:
    return tuple(round(each, 6) for each in fitted)


def test_a_line_has_its_slope_and_no_doubt() -> None:
    assert rounded(slope([(second, 7 + second / 360) for second in SECONDS])) == (10, 10, 10)


def test_noise_around_a_level_may_be_flat() -> None:
    chance = Random(7)
    fitted = slope([(second, 100 + chance.gauss(0, 3)) for second in SECONDS])
    assert fitted.least < 0 < fitted.most


def test_growth_is_found_in_noise() -> None:
    chance = Random(7)
    fitted = slope([(second, second / 360 + chance.gauss(0, 3)) for second in SECONDS])
    assert 0 < fitted.least < 10 < fitted.most

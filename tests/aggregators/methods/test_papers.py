"""LPA and LPU on the paper's own streams: error and bits of spec streams.md section 7, at one fixed seed each.

Users are drawn exactly, but all at once: holders among those asked are hypergeometric, their reports binomial.
"""

import numpy as np
import pytest

from murmurate.aggregators.methods.method import Answer, Decision, Setting
from murmurate.aggregators.methods.registry import method
from tests.aggregators.methods.driving import Asked, counts, drive

N, T, W, S = 200_000, 800, 20, 4_096


def simulate(spec: dict[str, str], stream: str, seed: int) -> tuple[float, float, float]:
    """Mean relative error of value 1, bits per user and period, and the share of errors within two sigma."""
    rng = np.random.default_rng(seed)
    sizes = np.bincount(rng.integers(0, S, N), minlength=S)
    setting = Setting(d=2, epsilon_micro=1_000_000, w=W, slots=S, first_t=1, seed=rng.bytes(32))
    t = np.arange(1, T + 1)
    p = 0.05 * np.sin(0.01 * t) + 0.075 if stream == "sin" else 0.25 / (1 + np.exp(-0.01 * t))
    truth = rng.binomial(N, p)
    left = np.stack((N - truth, truth))  # who has not been asked in this period
    received = 0

    def answer(asked: Asked) -> Answer:
        nonlocal received
        n = int(sizes[asked.mask(S)].sum())
        cell = left[:, asked.t - 1]
        ones = int(rng.hypergeometric(cell[1], cell[0], n))
        holders = np.array([n - ones, ones])
        cell -= holders
        received += n
        named = int(counts(asked.question, holders, rng)[1])  # GRR over two values: the other count is the rest
        return Answer(np.array([n - named, named]), n)

    decisions = [s for s in drive(method(spec, setting), range(1, T + 1), answer) if isinstance(s, Decision)]
    c = truth / N
    error = np.abs(np.array([d.unbiased[1] for d in decisions]) - c)
    sigma = np.sqrt([d.variance[1] for d in decisions])
    return float((error / np.maximum(c, 0.001)).mean()), 2 * received / N / T, float((error <= 2 * sigma).mean())


@pytest.mark.parametrize(
    ("spec", "mre", "bits"),
    [({"name": "lpa", "variance": "paper"}, 0.0274, 0.0803), ({"name": "lpu"}, 0.0375, 0.1)],
    ids=["lpa", "lpu"],
)
def test_error_and_bits_on_the_logistic_stream_are_the_papers(spec: dict[str, str], mre: float, bits: float) -> None:
    found_mre, found_bits, within = simulate(spec, "log", seed=1)
    assert found_mre == pytest.approx(mre, rel=0.25)
    assert found_bits == pytest.approx(bits, rel=0.03)
    assert within > 0.9

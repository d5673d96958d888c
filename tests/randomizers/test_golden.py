# SPDX-License-Identifier: Apache-2.0
"""GRR and OUE against values worked out by others (tests/data/oracles.json, as many digits as were printed).

The values belong to the ideal p and q; the library's are realised in integers, at most 2^-16 of q and here 2e-8 apart.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import GRR, OUE
from murmurate.randomizers.mechanism import PureOracle
from tests.cases import every

ORACLES: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent.parent / "data" / "oracles.json").read_text(encoding="ascii")
)
KINDS: dict[str, type[GRR] | type[OUE]] = {"GRR": GRR, "OUE": OUE}
DIGITS = 1e-6


def close(found: float | list[float], golden: float | list[float]) -> None:
    np.testing.assert_allclose(found, golden, rtol=DIGITS, atol=0)


@every("row", ORACLES["streams.fo_V"])
def test_probabilities_and_variances_are_the_streams_golden_values(row: dict[str, Any]) -> None:
    oracle: PureOracle = KINDS[row["fo"]](d=row["d"], epsilon=row["eps"])
    close([float(oracle.p), float(oracle.q)], [row["p"], row["q"]])
    close(float(oracle.variance(row["n"], 0.3)), row["Var_c03"])


@every("row", ORACLES["streams.fo_V"])
def test_the_mean_variance_over_the_cells_is_the_variance_at_one_out_of_d(row: dict[str, Any]) -> None:
    oracle: PureOracle = KINDS[row["fo"]](d=row["d"], epsilon=row["eps"])
    close(float(oracle.variance(row["n"], 1 / row["d"])), row["V"])
    any_frequencies = np.arange(1, row["d"] + 1) / (row["d"] * (row["d"] + 1) / 2)
    close(float(oracle.variance(row["n"], any_frequencies).mean()), row["V"])


def test_estimates_divide_by_the_reports_received_and_not_by_those_requested() -> None:
    row = ORACLES["streams.fo_est_received_n"]
    grr, support = GRR(d=row["d"], epsilon=row["eps"]), np.array(row["C"])
    close(grr.estimate(support, row["received"]).tolist(), row["est"])
    close(grr.estimate(support, row["requested"]).tolist(), row["with_requested_wrong"])
    assert support.sum() == row["received"]


@every("row", ORACLES["dissertation.grr"])
def test_grr_has_the_dissertations_probabilities_and_variance_of_a_rare_value(row: dict[str, Any]) -> None:
    grr = GRR(d=row["d"], epsilon=row["eps"])
    close([float(grr.p), float(grr.q), float(grr.variance(1, 0))], [row["p"], row["q"], row["var_star_per_user"]])


@every("row", ORACLES["dissertation.fo.oue"])
@every("d", [2, 77, 1024])
def test_oue_has_the_dissertations_probability_and_variance_whatever_the_domain(row: dict[str, Any], d: int) -> None:
    oue = OUE(d=d, epsilon=row["eps"])
    close([float(oue.p), float(oue.q), float(oue.variance(1, 0))], [0.5, row["OUE_q"], row["OUE_var"]])


@every("row", ORACLES["dissertation.var_full"])
def test_the_variance_of_a_frequent_value_is_the_dissertations(row: dict[str, Any]) -> None:
    oracle: PureOracle = KINDS[row["mech"]](d=row.get("d", 4), epsilon=row["eps"])
    on_the_scale_of_counts = row["n"] ** 2 * float(oracle.variance(row["n"], row["f"]))
    close(on_the_scale_of_counts, row["var"])


@every("name", ["grr", "oue"])
def test_estimates_are_the_dissertations_and_sum_as_they_do(name: str) -> None:
    row = ORACLES[f"dissertation.estimate_{name}"]
    oracle: PureOracle = KINDS[name.upper()](d=len(row["C"]), epsilon=row["eps"])
    counts = row["n"] * oracle.estimate(np.array(row["C"]), row["n"])
    close(counts.tolist(), row["est"])
    close(float(counts.sum()), row.get("sum", sum(row["est"])))

# SPDX-License-Identifier: Apache-2.0
"""How wide error bars must be at rest if they hold a fluctuation: python -m benchmarks.least_widths

For each fluctuation (its variance over that of a period's answer) and number of values that move alike: how well 400
periods tell it from rest (total variation: 0 not at all, 1 surely), and the least mean width at rest, over the error
of a filter that is told, of any procedure that covers 88 or 92 % of the fluctuating truth: least_width.py in
agents/simulate.
"""

from __future__ import annotations

from murmurate.agents.simulate.least_width import least_width, total_variation

FLUCTUATIONS = 0.01, 0.03, 0.1, 0.3
VALUES = 1, 7, 63


def main() -> None:
    """A line for each."""
    print("fluctuation  values  total variation   88 %   92 %")
    for fluctuation in FLUCTUATIONS:
        for values in VALUES:
            apart = total_variation(fluctuation=fluctuation, values=values)
            widths = [least_width(fluctuation=fluctuation, values=values, coverage=held) for held in (0.88, 0.92)]
            print(f"{fluctuation:11g}{values:8}{apart:17.2f}{widths[0]:7.2f}{widths[1]:7.2f}")


if __name__ == "__main__":
    main()

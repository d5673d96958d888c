# SPDX-License-Identifier: Apache-2.0
"""What LDP-IDS publishes, and what simulations of it by other code gave: beside these our figures are printed.

Source: PUBLISHED_BITS, table 2 of LDP-IDS (SIGMOD'22). EXPECTED_*, ARCHITECTURE section 5.7: simulations of the
corrected text, at n = 200 000, T = 800, means of 40 (bits), 60 (relative errors) and 10 to 12 runs (figure 11).  The
paper's figures are pictures: it prints no number of theirs.
"""

from __future__ import annotations

from typing import Final

STREAMS: Final = ("lns", "sin", "log")
METHODS: Final = ("lbu", "lbd", "lba", "lsp", "lpu", "lpd", "lpa")
SETTINGS: Final = ((1.0, 20), (2.0, 20), (2.0, 40))
"""Epsilon and w of table 2."""
EPSILONS: Final = (0.5, 1.0, 1.5, 2.0, 2.5)
WINDOWS: Final = (10, 20, 30, 40, 50)
OTHERS: Final = ("dsat", "rescuedp", "fast", "pegasus")

_FIXED = {"lbu": (1.0, 1.0, 1.0), "lsp": (0.1, 0.1, 0.05), "lpu": (0.1, 0.1, 0.05)}
_BITS = {
    ("lbd", "lns"): ((1.5585, 1.549), (1.5500, 1.547), (1.5420, 1.522)),
    ("lbd", "sin"): ((1.5516, 1.546), (1.5410, 1.542), (1.5268, 1.528)),
    ("lbd", "log"): ((1.5572, 1.545), (1.5540, 1.547), (1.4832, 1.526)),
    ("lba", "lns"): ((1.3410, 1.343), (1.3540, 1.354), (1.3395, 1.341)),
    ("lba", "sin"): ((1.3380, 1.340), (1.3580, 1.339), (1.3656, 1.336)),
    ("lba", "log"): ((1.3284, 1.331), (1.3368, 1.339), (1.3148, 1.335)),
    ("lpd", "lns"): ((0.0912, 0.0905), (0.0934, 0.0922), (0.0485, 0.0482)),
    ("lpd", "sin"): ((0.0913, 0.0900), (0.0933, 0.0916), (0.0484, 0.0482)),
    ("lpd", "log"): ((0.0915, 0.0908), (0.0937, 0.0932), (0.0490, 0.0486)),
    ("lpa", "lns"): ((0.0804, 0.0797), (0.0825, 0.0811), (0.0410, 0.0404)),
    ("lpa", "sin"): ((0.0806, 0.0796), (0.0828, 0.0808), (0.0411, 0.0404)),
    ("lpa", "log"): ((0.0803, 0.0799), (0.0822, 0.0822), (0.0414, 0.0412)),
}
"""In the order of SETTINGS: the paper's, the simulated."""


TRACES: Final = ("taxi", "foursquare", "taobao")
"""The paper's real traces; a recording whose name begins so is shown beside its figures."""
_OF_TRACES = {
    "lbu": ((3.0, 77.0, 118.0), (3.0, 77.0, 118.0), (3.0, 77.0, 118.0)),
    "lbd": ((4.2195, 102.5540, 146.0972), (4.2810, 102.9946, 144.9437), (4.1953, 99.4699, 145.3741)),
    "lba": ((3.8126, 93.4408, 136.9553), (3.8030, 93.3017, 136.7143), (3.7991, 92.6292, 136.4044)),
    "lsp": ((0.2032, 4.0208, 6.0602), (0.2032, 3.9431, 6.0602), (0.1038, 2.0048, 3.0301)),
    "lpu": ((0.1998, 3.9000, 5.9496), (0.1998, 3.9000, 5.9496), (0.0999, 1.9500, 2.9748)),
    "lpd": ((0.1870, 3.7815, 5.5106), (0.1917, 3.8728, 5.5243), (0.0987, 1.9454, 2.8806)),
    "lpa": ((0.1651, 3.5701, 4.7819), (0.1746, 3.8277, 4.7802), (0.0863, 1.8943, 2.3986)),
}  # fmt: skip
"""By method, in the order of SETTINGS, then of TRACES: the paper's bits."""


def of_trace(method: str, name: str, setting: tuple[float, int]) -> float | None:
    """What the paper's trace of this name costs, in bits of the uniform schedule of the same division: reports over
    another domain have other sizes. None where the paper has no such trace.

    >>> round(of_trace("lba", "taxi2018", (1.0, 20)), 4), of_trace("lpa", "trips", (1.0, 20))
    (1.2709, None)
    """
    named = [place for place, trace in enumerate(TRACES) if name.lower().startswith(trace)]
    if not named:
        return None
    row = SETTINGS.index(setting)
    return _OF_TRACES[method][row][named[0]] / _OF_TRACES[uniform(method)][row][named[0]]


def uniform(method: str) -> str:
    """The uniform schedule of the same division."""
    return "lbu" if method.startswith("lb") else "lpu"


def bits(method: str, stream: str, setting: tuple[float, int]) -> tuple[float, float]:
    """A cell of table 2: the paper's figure, and the simulated one.

    >>> bits("lpa", "sin", (1.0, 20)), bits("lsp", "log", (2.0, 40))
    ((0.0806, 0.0796), (0.05, 0.05))
    """
    place = SETTINGS.index(setting)
    if method in _FIXED:
        return _FIXED[method][place], _FIXED[method][place]
    return _BITS[method, stream][place]


EXPECTED_BY_EPSILON: Final = {
    "sin": {
        "lbu": (1.147, 0.574, 0.383, 0.287, 0.229), "lbd": (1.013, 0.511, 0.341, 0.265, 0.207),
        "lba": (0.717, 0.362, 0.246, 0.184, 0.148), "lpu": (0.259, 0.126, 0.084, 0.062, 0.050),
        "lpd": (0.206, 0.106, 0.072, 0.056, 0.048), "lpa": (0.179, 0.093, 0.064, 0.050, 0.042),
        "lsp": (0.074, 0.054, 0.049, 0.047, 0.046),
    },
    "log": {
        "lbu": (0.322, 0.161, 0.107, 0.081, 0.064), "lbd": (0.288, 0.146, 0.098, 0.073, 0.059),
        "lba": (0.203, 0.103, 0.068, 0.050, 0.041), "lpu": (0.0729, 0.0375, 0.0261, 0.0210, 0.0182),
        "lpd": (0.0599, 0.0326, 0.0243, 0.0210, 0.0202), "lpa": (0.0514, 0.0274, 0.0210, 0.0181, 0.0171),
        "lsp": (0.0199, 0.0132, 0.0111, 0.0100, 0.0095),
    },
}  # fmt: skip
"""Relative errors at w = 20 and EPSILONS. LNS is another path in every run: nothing can be expected of its errors."""
EXPECTED_BY_WINDOW: Final = {
    "sin": {
        "lbu": (0.287, 0.574, 0.862, 1.147, 1.440), "lbd": (0.280, 0.511, 0.771, 1.055, 1.440),
        "lba": (0.187, 0.362, 0.541, 0.699, 0.898), "lpu": (0.091, 0.126, 0.156, 0.180, 0.200),
        "lpd": (0.079, 0.106, 0.130, 0.153, 0.175), "lpa": (0.068, 0.093, 0.114, 0.129, 0.147),
        "lsp": (0.036, 0.054, 0.075, 0.097, 0.118),
    },
    "log": {
        "lbu": (0.081, 0.161, 0.241, 0.322, 0.401), "lbd": (0.077, 0.146, 0.232, 0.323, 0.442),
        "lba": (0.052, 0.103, 0.154, 0.203, 0.256), "lpu": (0.0263, 0.0375, 0.0461, 0.0532, 0.0597),
        "lpd": (0.0234, 0.0326, 0.0403, 0.0490, 0.0550), "lpa": (0.0198, 0.0274, 0.0342, 0.0395, 0.0444),
        "lsp": (0.0095, 0.0132, 0.0170, 0.0210, 0.0253),
    },
}  # fmt: skip
"""Relative errors at epsilon 1 and WINDOWS."""
EXPECTED_OTHERS: Final = {
    "sin": {"dsat": (0.220, 0.084), "rescuedp": (0.177, 0.072), "fast": (0.139, 0.096), "pegasus": (0.52, 0.095)},
    "log": {
        "dsat": (0.065, 0.0238),
        "rescuedp": (0.0371, 0.0167),
        "fast": (0.0297, 0.0198),
        "pegasus": (0.090, 0.0221),
    },
}
"""Relative errors at epsilon 1, w = 30: by budget, by population."""

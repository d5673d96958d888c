#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benchmarks, in an environment of their own (build/bench) that holds the peers: `make bench`.
# PY names the Python it is made with; the default is the one of .venv.
set -eu
cd "$(dirname "$0")/.."
export PIP_BUILD_CONSTRAINT="$PWD/constraints.txt" PIP_DISABLE_PIP_VERSION_CHECK=1
ready=build/bench/ready
for input in pyproject.toml constraints.txt benchmarks/constraints.txt; do
    if [ ! -e "$ready" ] || [ "$input" -nt "$ready" ]; then
        "${PY:-.venv/bin/python}" -m venv --clear build/bench
        build/bench/bin/python -m pip install --quiet --upgrade pip --constraint constraints.txt
        build/bench/bin/python -m pip install --quiet --constraint constraints.txt \
            --constraint benchmarks/constraints.txt --editable . \
            pure-ldp multi-freq-ldpy scikit-learn statsmodels # the last two pure-ldp imports without saying so
        touch "$ready"
    fi
done
export OPENBLAS_NUM_THREADS=1 # dense matrices, too, get one core
exec build/bench/bin/python -m benchmarks.run

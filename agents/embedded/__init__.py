# SPDX-License-Identifier: Apache-2.0
"""The embedded runtime: the same stages on in-process logs, without a broker."""

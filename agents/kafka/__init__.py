# SPDX-License-Identifier: Apache-2.0
"""The Kafka runtime: the same stages as Faust agents, exactly once."""

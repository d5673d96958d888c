# SPDX-License-Identifier: Apache-2.0
"""The stages on a real Kafka broker, beside bare aiokafka and bare Faust on the same one: `python -m benchmarks.kafka`.

Rates are wall time, and CPU time per unit stands beside them: that holds on a machine that is busy with other things.
"""

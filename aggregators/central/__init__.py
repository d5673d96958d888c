# SPDX-License-Identifier: Apache-2.0
"""Central streams event by event as ToPS has them, and the methods that it is compared with."""

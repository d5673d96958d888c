# SPDX-License-Identifier: Apache-2.0
"""Second opinions on the promise: the audit of a deployment by its logs, and the count beside every replay."""

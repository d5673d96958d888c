# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per verb, loaded only when it is asked for."""

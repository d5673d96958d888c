# SPDX-License-Identifier: Apache-2.0
"""What a server does with estimates."""

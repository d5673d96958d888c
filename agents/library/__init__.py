# SPDX-License-Identifier: Apache-2.0
"""What `import murmurate as mm` offers whoever works in Python: replays, subscriptions, tables (docs/PYTHON.md).

Contract: nothing here is imported by a worker or before somebody asks for it; pyarrow, pandas and polars are imported
by the call that needs them and by nothing else.
"""

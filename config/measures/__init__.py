"""The [streams.NAME] tables: what each kind of measure needs to be told."""

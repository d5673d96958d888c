"""The deployment file: one `murmurate.toml` for one promise."""

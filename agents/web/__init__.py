"""The page and the live stream of releases."""

"""Replay: recorded or synthetic streams through every stage, with their truth beside them."""

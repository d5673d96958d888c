"""What `murmurate reproduce` computes again: one file or a few for each comparison."""

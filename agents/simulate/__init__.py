"""Simulation: methods, filters and plans tried on made-up users who are drawn all at once, without any stage."""

"""Filters: the best current estimate from all reports so far."""

"""Hypothesis draws the same examples every time in `make test`, so that a build says something about the change it is
of; `make audit` draws fresh ones (profile `fresh`)."""

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("fresh")
settings.load_profile("same")

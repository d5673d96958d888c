"""Stages: pure folds over ordered logs. Two runtimes run the same ones."""

"""The embedded runtime: the same stages on in-process logs, without a broker."""

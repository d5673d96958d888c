"""The Kafka runtime: the same stages as Faust agents, exactly once."""

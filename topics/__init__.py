"""What is on the wire, as data: topic names, messages, blocks, events. No I/O."""

"""Methods: what to ask in each period, and what to release."""

"""What a worker shows of itself: metrics, health, logs."""

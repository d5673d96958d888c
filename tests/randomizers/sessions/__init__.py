"""Sessions: horizons, their bills, and what users tell in them."""

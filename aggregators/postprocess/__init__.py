"""What may be done to estimates after the fact, at no cost in privacy."""

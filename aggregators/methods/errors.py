"""What methods refuse beyond parameters: being told things out of turn."""

from murmurate.errors import MurmurateError


class TurnError(MurmurateError):
    """A method was asked for a period that is over, or given an answer to a question that is not open."""

"""What cannot be done as asked: said in a sentence, and the exit code is 2."""

__all__ = ["Refused"]


class Refused(Exception):
    """The text is the sentence."""

"""Words that a thread says in place of a blocked event loop, each of them held up by itself alone."""

from collections import deque
from collections.abc import Callable, Iterable

from windlass.errors import InvalidInput, WindlassError
from windlass.worker.hand_over import take_all
from windlass.worker.outage import lock_not_free
from windlass.worker.reporter import MAX_WORDS, next_batch
from windlass.worker.words import Word

__all__ = ["Owed"]


class Owed:
    """`say` is called with words of one verb; `refused` with each that nobody can say as it is.

    Some words wait for a transaction: that of their own handler, if this finished the job in it, or
    somebody's.  The first kind is said only at the end, when nobody else will say it any more.
    """

    def __init__(self, say: Callable[[list[Word]], None], refused: Callable[[list[Word]], None]) -> None:
        self._say = say
        self._refused = refused
        self._words: deque[Word] = deque()
        self._aside: deque[Word] = deque()
        """Not to be said now, or tried in vain at the end."""
        self._held: set[bytes] = set()
        """Leases of which a job was held."""
        self._one_by_one = False

    def __bool__(self) -> bool:
        return bool(self._words or self._aside)

    def add(self, words: Iterable[Word], *, last: bool = False) -> None:
        for word in words:
            (self._aside if word.finished and not last else self._words).append(word)

    def take_all(self) -> list[Word]:
        """From any thread: all of them, which are then whoever's that asked."""
        return [*take_all(self._words), *take_all(self._aside)]

    def begin_last(self) -> None:
        """The end has come: what was set aside is tried too."""
        self._words.extend(take_all(self._aside))

    def say_all(self, *, last: bool = False) -> bool:
        """Say what can be said; False if some of it is to be tried again, or tried at all.

        A vain try takes half a second, so there is one in a call: the caller has leases to renew.  At the
        end each word that is held is tried once by itself, behind those that may be free.
        """
        if last and self._one_by_one:
            self._put_doubtful_last()
        while batch := next_batch(self._words, 1 if self._one_by_one else MAX_WORDS):
            unsaid = list(batch.values())
            try:
                while unsaid:
                    self._say(unsaid[-1])
                    unsaid.pop()
            except Exception as error:
                held = lock_not_free(error)
                if isinstance(error, WindlassError) and not (held or isinstance(error, InvalidInput)):
                    raise  # the database is away, for all of them
                if not self._one_by_one:
                    self._one_by_one = True
                    return False
                if not held:
                    self._refused(unsaid.pop())
                    continue
                if last:
                    self._set_aside(unsaid.pop())
                return False
            finally:
                self._put_back(word for words in unsaid for word in words)
        self._one_by_one = False
        return True

    def _put_back(self, words: Iterable[Word]) -> None:
        for word in words:
            word.repeated = True
            self._words.append(word)

    def _set_aside(self, words: list[Word]) -> None:
        for word in words:
            word.repeated = True
            self._held.add(word.job.token_bytes)
            self._aside.append(word)

    def _put_doubtful_last(self) -> None:
        """Whoever holds one job of a lease may hold the lease, and with it the words on all its jobs."""
        words = take_all(self._words)
        self._words.extend(
            sorted(words, key=lambda word: word.finished or word.job.token_bytes in self._held)
        )

"""`windlass jobs`: find jobs, look at one, and mend what went wrong."""

from windlass.cli.jobs import change, explain, listing, redrive, show, wait
from windlass.cli.tree import listing_group

__all__ = ["app"]

app = listing_group("Find jobs, look at one, and mend what went wrong.")
for command in (listing, show, explain, change, redrive, wait):
    command.add_to(app)

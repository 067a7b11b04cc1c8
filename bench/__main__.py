"""`./run bench`: Ctrl-C ends it quietly, whenever it comes."""

import sys

INTERRUPTED = 130

if __name__ == "__main__":
    try:
        from bench.command import main

        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.stderr.write("\nbench: interrupted\n")
        sys.exit(INTERRUPTED)

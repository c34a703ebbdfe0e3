"""`python -m compile_lint.linter`."""

import os
import sys

# `-m` puts the working directory in front of the module search path: a `click.py` or `rich.py` of
# the project that is linted would be imported, which is to say run.
if not getattr(sys.flags, "safe_path", False) and sys.path[:1] in ([""], [os.getcwd()]):
    del sys.path[0]

from .cli import main

if __name__ == "__main__":
    main()

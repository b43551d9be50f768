"""`python -m hansa` is the program `hansa`."""

import os
import sys

from ._program import program

os.execv(program(), ["hansa", *sys.argv[1:]])

"""Runs a block of Python of the book in a folder: book_block.py FOLDER SCRIPT."""

import os
import sys
from pathlib import Path

folder, script = map(Path, sys.argv[1:])
os.chdir(folder)
exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})

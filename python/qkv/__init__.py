"""qkv: see how attention learns. Train small attention models, and read every number of them, from Python.

The package runs the program qkv and reads its files, so it has the program's bits and its errors (QkvError). It needs
numpy; pandas and transformer_lens are used where they are there. docs/python.md is the guide.
"""
from .program import DamagedError, DivergedError, QkvError, UsageError, program
from .run import Example, Run, open, train
from .sweep import sweep

__version__ = "0.1.0"
__all__ = "train open sweep program Run Example QkvError UsageError DamagedError DivergedError".split()

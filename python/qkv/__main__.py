"""python -m qkv: the program, with its options, its output and its exit code."""
import os
import sys

from . import program


def main():
    """Becomes the program; never returns."""
    os.execv(program(), ["qkv", *sys.argv[1:]])


if __name__ == "__main__":
    main()

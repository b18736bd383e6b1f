"""qkv: see how attention learns. The program itself is in this package; `python -m qkv` runs it."""
import os
import shutil


def program():
    """The path of the program qkv: what QKV names, or the one in this package, or one on PATH."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "qkv")
    found = os.environ.get("QKV") or (inside if os.access(inside, os.X_OK) else shutil.which("qkv"))
    if not found:
        raise FileNotFoundError("there is no program qkv in this package, nor on PATH; QKV can name one")
    return found

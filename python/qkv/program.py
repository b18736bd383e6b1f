"""The program: where it is, how it is run, and its errors as exceptions."""
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from typing import Any, Callable, Iterable, List, Optional


class QkvError(Exception):
    """The program's sentence. `code` is its exit code (1: it failed), None if it could not be started."""

    def __init__(self, sentence: str, code: Optional[int] = None):
        super().__init__(sentence)
        self.code = code


class UsageError(QkvError, ValueError):
    """Exit code 2: an option that does not exist, or a value that it does not take."""


class DamagedError(QkvError):
    """Exit code 3: a file that is damaged, or not what it should be."""


class DivergedError(QkvError):
    """Exit code 4: a number in training was not finite."""


_CLASSES = {2: UsageError, 3: DamagedError, 4: DivergedError}

def program() -> str:
    """The path of the program: what the variable QKV names, else the one in this package, else one on PATH.

    QkvError: there is none, it cannot run here, or it is of another version than this package."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "qkv")
    named = os.environ.get("QKV")
    if named and not (os.path.isfile(named) and os.access(named, os.X_OK)):
        raise QkvError(f"QKV names '{named}', which is no program")
    found = named or (inside if os.access(inside, os.X_OK) else shutil.which("qkv"))
    if not found:
        raise QkvError("there is no program qkv in this package, nor on PATH; build it, and let QKV name it")
    _check(os.path.abspath(found))
    return found


@functools.lru_cache(maxsize=None)
def _check(path: str) -> None:
    from . import __version__ as mine
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.split()
    except OSError as why:
        raise QkvError(f"'{path}' does not run on this system ({why.strerror}): a wheel fits one kind of processor "
                       "and Linux; build the program here, and let QKV name it") from None
    theirs = said[1] if len(said) > 1 and said[0] == "qkv" else "no qkv"
    if theirs.split(".")[:2] != mine.split(".")[:2]:
        raise QkvError(f"'{path}' is {theirs}, and this package is for qkv {mine}")


def call(*words: Any, watch: Optional[Callable[[bool], None]] = None) -> str:
    """Runs `qkv WORDS...` and returns what it printed; `watch` is called twice a second, at the end with True.

    A note of the program becomes a warning. QkvError: it failed. Interrupted, it may end its step and save."""
    child = subprocess.Popen([program(), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        while True:
            try:
                out, err = child.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                if watch:
                    watch(False)
    except BaseException:
        child.send_signal(signal.SIGINT)
        child.communicate()
        raise
    if watch:
        watch(True)
    code, notes = child.returncode, err.strip().splitlines()
    if code:  # below 0: a signal ended it
        raise _CLASSES.get(code, QkvError)(notes[-1] if notes else f"qkv ended with exit code {code}", code)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return out


def flags(options: dict, one: bool) -> List[str]:
    """Options by name as words: d_model=32 is --d-model 32, bias=False is --no-bias; None is left out. Of a list,
    `one` makes one value with commas, else the option is repeated."""
    words: List[str] = []
    for name, value in options.items():
        many = not isinstance(value, (str, bytes)) and isinstance(value, Iterable)
        values = list(value) if many else [value]
        if one and many:
            values = [",".join(map(str, values))]
        for x in values:
            x = x.item() if hasattr(x, "item") else x  # numpy's scalars
            flag = name.replace("_", "-")
            if isinstance(x, bool):
                words.append(f"--{flag}" if x else f"--no-{flag}")
            elif x is not None:
                words += [f"--{flag}", str(x)]
    return words


def progress(directory: str) -> Callable[[bool], None]:
    """A watch for call(): after two seconds a line on stderr says how far a training is, by its metrics.csv."""
    begun = time.monotonic()
    shown: List[None] = []

    def watch(done: bool) -> None:
        try:
            with open(os.path.join(directory, "metrics.csv"), encoding="utf-8") as file:
                names, *rows = [line.rstrip("\n").split(",") for line in file if line.endswith("\n")]
            row = dict(zip(names, rows[-1]))
        except (OSError, ValueError, IndexError):
            return  # it has not begun
        if shown or time.monotonic() - begun > 2:
            shown.append(print(f"\rstep {row['step']}  loss {row['loss']:.7}  accuracy {row['accuracy']:.5} ",
                               end="\n" if done else "", file=sys.stderr, flush=True))
    return watch

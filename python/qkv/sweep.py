"""Sweeps: all combinations of options, each trained once."""
import csv
import os
import tempfile
from typing import Any, Dict, List, Optional

import numpy as np

from .program import call, flags


def sweep(out: Optional[str] = None, seeds: Optional[int] = None, executor: Any = None, parts: Optional[int] = None,
          **options: Any) -> Any:
    """Trains every combination of the lists in `options`, each once: sweep(lr=[1e-3, 3e-3], d_k=[4, 8], seeds=20).

    out: the sweep's folder, where the same call goes on and a longer list adds cells; by default none is kept.
    seeds: the seeds 1 to so many. executor: any concurrent.futures one (Dask's, submitit's, MPI's), which trains
    `parts` parts (as many as it has workers, else 4) in folders beside out, on a file system that all workers see.
    Returns cells.csv, a row for each training: a pandas.DataFrame, or without pandas a dict of numpy columns.
    QkvError: as the program says."""
    if seeds is not None:
        options["seed"] = range(1, seeds + 1)
    words = flags(options, one=False)
    if out is None:
        with tempfile.TemporaryDirectory() as kept:
            return sweep(os.path.join(kept, "sweep"), None, executor, parts, **options)
    if executor is None:
        call("sweep", "--out", out, "--quiet", *words)
        return cells(out)
    n = parts or getattr(executor, "_max_workers", 4)
    folders = [f"{os.path.abspath(out)}.part-{i + 1}" for i in range(n)]
    waiting = [executor.submit(train_part, words, i + 1, n, folder) for i, folder in enumerate(folders)]
    for future in waiting:
        future.result()
    call("sweep", "--merge", *folders, "--out", out, "--quiet")
    return cells(out)


def train_part(words: List[str], i: int, n: int, folder: str) -> None:
    """Trains part i of n; a worker's task."""
    call("sweep", "--out", folder, "--part", f"{i}/{n}", "--jobs", 1, "--quiet", *words)


def cells(directory: str) -> Any:
    """The cells of a sweep's folder, as sweep() returns them."""
    path = os.path.join(directory, "cells.csv")
    try:
        import pandas
        return pandas.read_csv(path)
    except ImportError:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    columns: Dict[str, np.ndarray] = {}
    for name in rows[0] if rows else {}:
        texts = [row[name] for row in rows]
        try:
            columns[name] = np.array([float(text or "nan") for text in texts])
        except ValueError:
            columns[name] = np.array(texts)
    return columns

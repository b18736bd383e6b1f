"""Runs: training one, and every number of it."""
import builtins
import csv
import glob
import html
import json
import os
import re
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .program import QkvError, call, flags
from .program import progress as progress_of


def train(out: Optional[str] = None, progress: bool = True, **options: Any) -> "Run":
    """Trains a model; options are those of `qkv train`, with _ for -: task="pairs", steps=600, d_model=64, bias=True.

    out: the run's directory, by default runs/TASK-N. progress: a line on stderr after two seconds. An interrupted
    training is kept where it is: train(out=..., resume=True, steps=...) goes on. QkvError: see program.py."""
    kind, n = str(options.get("task", "pairs")), 1
    while out is None:
        at = os.path.join("runs", f"{kind}-{n}")
        out, n = (at if not os.path.exists(at) else None), n + 1
    watch = progress_of(out) if progress else None
    said = call("train", "--out", out, "--json", *flags(options, one=True), watch=watch)
    return Run(out, None, options.get("data"), options.get("plugin"), json.loads(said))


def open(directory: str, data: Optional[str] = None, plugin: Optional[str] = None) -> "Run":  # pylint: disable=W0622
    """A run that is there. data: where the file of its task is now; plugin: the file with its task or block.

    QkvError: the directory is no run. A run of another version is read, with a warning where bits may differ."""
    call("info", directory, "--json", *flags({"data": data, "plugin": plugin}, one=True))
    return Run(directory, None, data, plugin)


class Run:
    """A run's model after some step, the newest if `step` is None. Arrays are numpy's, float32 (of a double run
    float64). `summary` is what `qkv train` said at the end; {} of a run that was opened."""

    def __init__(self, directory: str, step: Optional[int] = None, data: Optional[str] = None,
                 plugin: Optional[str] = None, summary: Optional[Dict[str, Any]] = None):
        self.directory, self.step, self.summary, self._where = directory, step, summary or {}, (data, plugin)
        self._more = flags({"at": step, "data": data, "plugin": plugin}, one=True)
        self._kept: Dict[Tuple[Any, ...], "_Export"] = {}

    def __repr__(self) -> str:
        return f"<qkv {self.directory}, {'newest' if self.step is None else 'step %d' % self.step}>"

    @property
    def config(self) -> Dict[str, Any]:
        """Every option, by its name with _."""
        return json.loads(_read(self.directory, "config.json"))

    def _export(self, example: int, change: Optional[str] = None) -> "_Export":
        key = (example, change, *sorted(os.listdir(self.directory)))  # it may have been trained on
        if key not in self._kept:
            self._kept[key] = _Export(self, example, change)
        return self._kept[key]

    def _json(self, command: str, options: Dict[str, Any], *words: str) -> Dict[str, Any]:
        return json.loads(call(command, self.directory, *words, "--json", *flags(options, one=True), *self._more))

    def keys(self) -> List[str]:
        """The names of the parameters."""
        return sorted(self._export(0).files["weights"])

    def __getitem__(self, name: str) -> np.ndarray:
        """A parameter: state["layer0.attn.wq"] is [d_model, heads * d_k]. KeyError: there is none of that name."""
        return self._export(0).files["weights"][name]

    def example(self, number: int = 0) -> "Example":
        """A held-out example. UsageError: there is none of that number."""
        return Example(self, number)

    def swap(self, example: int = 0, keys: Sequence[int] = (), values: Sequence[int] = (),
             positions: Sequence[int] = ()) -> "Example":
        """A held-out example with the keys, or the values, or all that stands at two positions swapped: keys=(3, 7).

        UsageError: there are no such positions, or the task has no keys and values."""
        given = [(name, x) for name, x in (("key:", keys), ("value:", values), ("", positions)) if len(x)]
        if len(given) != 1 or len(given[0][1]) != 2:
            raise TypeError("swap() takes two positions, as one of keys=(I, J), values=(I, J) and positions=(I, J)")
        return Example(self, example, "%s%d,%d" % (given[0][0], *given[0][1]))

    def attention(self, example: int = 0, site: Optional[str] = None) -> np.ndarray:
        """The attention weights of a held-out example, [layers, heads, T, S]: see Example.attention()."""
        return self.example(example).attention(site)

    def words(self, example: int = 0, side: str = "sequence") -> List[str]:
        """What stands at each position of a held-out example: see Example.words()."""
        return self.example(example).words(side)

    def circuits(self) -> Dict[str, np.ndarray]:
        """The circuits, each [heads, rows, columns]: "qk" question by key, "ov" value by answer; also "qk_value" and
        "ov_key", which should not matter. With several questions "qk.first" ... QkvError: the model has none."""
        found: Dict[str, List[np.ndarray]] = {}
        for name, x in sorted(self._export(0).files["circuits"].items(), key=lambda item: _numbers(item[0])):
            found.setdefault(re.sub(r"\.head\d+", "", name), []).append(x)
        if not found:
            why = [row["why"] for row in _rows(_read(self.directory, "probe", "missing.csv"))]
            raise QkvError("the model has no circuits" + (f": {why[0]}" if why else ""))
        return {re.sub("^(qk)_key|^(ov)_value", r"\1\2", name): np.stack(x) for name, x in found.items()}

    def eval(self, **options: Any) -> Dict[str, Any]:
        """`qkv eval`: accuracy on held-out examples, and what follows from swaps. examples=2000."""
        return self._json("eval", options)

    def heads(self, **options: Any) -> Dict[str, Any]:
        """`qkv heads`: what each head attends to, writes and reads. examples=256."""
        with tempfile.TemporaryDirectory() as out:
            return self._json("heads", {"out": out, **options})

    def patch(self, **options: Any) -> Dict[str, Any]:
        """`qkv patch`: what carries the difference between two examples. clean=0, other=1, attribution=True."""
        with tempfile.TemporaryDirectory() as out:
            return self._json("patch", {"out": out, **options})

    def probe(self, *names: str) -> Dict[str, Any]:
        """`qkv probe`: the measurements of the studies; without names all that fit (qkv list probes)."""
        return self._json("probe", {}, *names)

    def show(self, example: int = 0, **options: Any) -> str:
        """`qkv show`: one example step by step, as text."""
        return call("show", self.directory, "--example", example, *flags(options, one=True), *self._more)

    def html(self) -> str:
        """The page with this run in it, opened at this step: one HTML text that needs no network."""
        with tempfile.TemporaryDirectory() as out:
            call("view", self.directory, "--out", f"{out}/view.html", *self._more)
            return _read(out, "view.html")

    def _repr_html_(self) -> str:
        try:
            return f'<iframe srcdoc="{html.escape(self.html())}" style="width:100%;height:640px;border:0"></iframe>'
        except QkvError as why:  # there is no page: a notebook shows the reason
            return f"<pre>{html.escape(repr(self))}\n{html.escape(str(why))}</pre>"

    def to_transformer_lens(self) -> Any:
        """The model as a transformer_lens.HookedTransformer, whose logits agree to 1e-5.

        ImportError: it is not installed. QkvError: it cannot express the model, and why."""
        from .lens import convert
        return convert(self)

    def at(self, step: int) -> "Run":
        """The state after so many steps; recomputed, if no checkpoint is there. QkvError: there is none."""
        return Run(self.directory, step, *self._where)

    @property
    def metrics(self) -> Dict[str, np.ndarray]:
        """metrics.csv as it is now: a column for each name, a number for each evaluation; nan: there is none."""
        rows = _rows(_read(self.directory, "metrics.csv"))
        return {name: np.array([float(row[name] or "nan") for row in rows]) for name in (rows[0] if rows else {})}

    def frame(self) -> Any:
        """The metrics as a pandas.DataFrame. ImportError: pandas is not installed."""
        import pandas
        return pandas.DataFrame(self.metrics)


class Example:
    """A held-out example, perhaps changed, as the model of a state sees it."""

    def __init__(self, state: Run, number: int, change: Optional[str] = None):
        self._all = state._export(number, change)

    def attention(self, site: Optional[str] = None) -> np.ndarray:
        """The attention weights, [layers, heads, T, S]: where each of T positions attends to.

        site: "attn", "cross" or "encoder", where a model has several; by default the first of cross and attn.
        QkvError: the model has no such attention."""
        found: Dict[Tuple[str, int], List[np.ndarray]] = {}
        for name, x in sorted(self._all.files["attention"].items(), key=lambda item: _numbers(item[0])):
            part = re.fullmatch(r"(encoder|layer)(\d+)\.(\w+)\.head\d+", name)
            if part:
                found.setdefault(("encoder" if part[1] == "encoder" else part[3], int(part[2])), []).append(x)
        kinds = [kind for kind in ("cross", "attn", "encoder") if any(kind == at for at, _ in found)]
        if not kinds or (site is not None and site not in kinds):
            raise QkvError(f"the model has no attention '{site or 'attn'}' to look at, only {kinds}")
        return np.stack([np.stack(heads) for (at, _), heads in found.items() if at == (site or kinds[0])])

    def logits(self, readout: Optional[str] = None) -> np.ndarray:
        """What the model says at each scored position, before the softmax: [scored, classes]. readout: its name,
        where a task has several answers. KeyError: there is none of that name, or its answer is a vector."""
        said = self._all.files["logits"]
        return said[readout if readout is not None or not said else next(iter(said))]

    def words(self, side: str = "sequence") -> List[str]:
        """What stands at each position, as the program writes it: "k8 v21". side="memory": of the other sequence."""
        return self._all.labels[side]


class _Export:
    """What `qkv export` wrote of a state and an example: files[kind][name], and the words of each side."""

    def __init__(self, state: Run, example: int, change: Optional[str]):
        self.files: Dict[str, Dict[str, np.ndarray]] = {
            kind: {} for kind in ("weights", "attention", "logits", "circuits")}
        self.labels: Dict[str, List[str]] = {"sequence": [], "memory": []}
        with tempfile.TemporaryDirectory() as out:
            call("export", state.directory, "--npy", out, "--csv", f"{out}/csv", "--example", example,
                 *flags({"change": change}, one=True), *state._more)
            for kind in self.files:
                for path in glob.glob(f"{out}/{kind}/*.npy"):
                    name = re.sub("%(..)", lambda m: chr(int(m[1], 16)), os.path.basename(path)[:-4])
                    self.files[kind][name] = np.load(path)
            for path in glob.glob(f"{out}/csv/attention/*.csv"):
                table = list(csv.reader(_read(path).splitlines()))
                for cross, labels in ((False, [row[0] for row in table[1:]]), (".cross." in path, table[0][1:])):
                    side = "memory" if cross or "/encoder" in path else "sequence"
                    self.labels[side] = [label.partition(" ")[2] for label in labels]


def _read(*path: str) -> str:
    with builtins.open(os.path.join(*path), encoding="utf-8", newline="") as file:
        return file.read()


def _rows(text: str) -> List[Dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def _numbers(name: str) -> List[Any]:  # head10 comes after head9
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

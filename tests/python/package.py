"""Tests of the package qkv (python/qkv), in the directory it is called in; QKV is the program's path. Reports in
cmocka's words, for run.sh; pytest runs them, too."""
import concurrent.futures
import contextlib
import csv
import functools
import glob
import io
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import traceback
import unittest
import warnings

import numpy as np

import qkv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ["QKV"]


def said(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


@functools.lru_cache(None)
def trained(**options):
    return qkv.train(out=tempfile.mkdtemp(dir="."), force=True, steps=30, eval_every=10, **options)


def raises(kind, words, function, *args, **options):
    try:
        function(*args, **options)
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError(f"no {kind.__name__}")


def test_small():
    """The package has 500 lines at most."""
    assert sum(len(open(path).readlines()) for path in glob.glob(ROOT + "/python/qkv/*.py")) <= 500


def test_metrics_are_the_files():
    run = trained(seed=2)
    rows = list(csv.DictReader(open(run.directory + "/metrics.csv")))
    assert [float(row["accuracy"]) for row in rows] == list(run.metrics["accuracy"])
    assert list(run.metrics["step"]) == [0, 10, 20, 30] and np.isnan(run.metrics["distractor"]).all()
    assert run.summary["run"] == run.directory and run.config["seed"] == 2
    assert abs(run.summary["accuracy"] - run.eval(examples=2048)["accuracy"]) < 0.06


def test_weights_are_those_of_the_checkpoint():
    run = trained(task="induction")
    path, = glob.glob(run.directory + "/step-*.safetensors")
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    for name in run.keys():
        begin, end = header[name]["data_offsets"]
        assert (np.frombuffer(data[8 + size + begin:8 + size + end], "<f4").reshape(header[name]["shape"])
                == run[name]).all(), name
    assert "layer1.attn.wq" in run.keys() and run["layer1.attn.wq"].dtype == np.float32
    raises(KeyError, "nothing", lambda: run["nothing"])


def test_states_are_those_of_shorter_runs():
    run, short = trained(), qkv.train(out="short", steps=20, eval_every=10, progress=False)
    assert (run.at(20)["layer0.attn.wk"] == short["layer0.attn.wk"]).all()
    assert (run["layer0.attn.wk"] != short["layer0.attn.wk"]).any()
    qkv.train(out="short", resume=True, steps=30)  # the same object sees what was trained on
    assert (run["layer0.attn.wk"] == short["layer0.attn.wk"]).all() and list(short.metrics["step"])[-1] == 30


def test_attention_is_computed_from_the_weights():
    run = trained(task="induction", heads=2)
    a = run.attention(3)
    assert a.shape == (2, 2, 24, 24) and np.allclose(a.sum(-1), 1, atol=1e-5)
    ids = json.loads(said("data", "induction", "--split", "test", "--n", "4", "--json").splitlines()[3])
    x = run["embed.token"][ids["sequence"][0]["ids"]] + run["embed.position"]
    q, k = (x @ run["layer0.attn.w" + role] for role in "qk")
    for h in range(2):
        part = slice(h * q.shape[1] // 2, (h + 1) * q.shape[1] // 2)
        s = np.where(np.tril(np.ones((24, 24))) > 0, q[:, part] @ k[:, part].T / (q.shape[1] // 2) ** 0.5, -np.inf)
        e = np.exp(s - s.max(1, keepdims=True))
        assert np.abs(e / e.sum(1, keepdims=True) - a[0, h]).max() < 1e-5
    assert len(run.words(3)) == 24 and run.words(3)[0] == f"t{ids['sequence'][0]['ids'][0]}"
    assert run.example(3).logits().shape[1] == len(run["embed.token"])
    raises(qkv.QkvError, "no attention 'cross'", run.attention, 0, "cross")


def test_cross_attention_has_two_sides():
    run = trained(task="cross")
    words, memory = run.words(0), run.words(0, side="memory")
    assert run.attention(0).shape == (1, 1, len(words), len(memory)) and words != memory


def test_ten_heads_stay_in_order():
    run = trained(heads=11, d_k=2, d_v=2, d_model=32)
    path = tempfile.mkdtemp(dir=".")
    said("export", run.directory, "--npy", path + "/x")
    assert (run.attention()[0, 10] == np.load(path + "/x/attention/layer0.attn.head10.npy")).all()
    assert (run.circuits()["qk"][2] == np.load(path + "/x/circuits/qk_key.head2.npy")).all()


def test_swaps_move_what_they_name():
    run = qkv.train(out="swapped", steps=300)
    before, keys = run.example(0), run.swap(0, keys=(3, 7))
    values, both = run.swap(0, values=(3, 7)), run.swap(0, positions=(3, 7))
    place = before.attention()[0, 0, -1].argmax()
    assert place == 3 and keys.attention()[0, 0, -1].argmax() == 7
    assert values.attention()[0, 0, -1].argmax() == 3 and both.attention()[0, 0, -1].argmax() == 7
    said_before = before.words()[3].split()[1]
    assert before.logits("value").argmax() == both.logits().argmax() == int(said_before[1:])
    assert keys.logits().argmax() == values.logits().argmax() == int(before.words()[7].split()[1][1:])
    raises(qkv.UsageError, "is no change", run.swap, 0, keys=(3, 70))
    raises(qkv.UsageError, "is no change", trained(task="induction").swap, 0, keys=(1, 2))
    raises(TypeError, "two positions", run.swap, 0, keys=(1, 2), values=(1, 2))


def test_circuits_by_question_and_where_there_are_none():
    assert sorted(trained().circuits()) == ["ov", "ov_key", "qk", "qk_value"]
    assert trained(task="two").circuits()["qk.second"].shape[0] == 2
    raises(qkv.QkvError, "no circuits: ", trained(task="induction").circuits)


def test_commands_give_data():
    run = trained()
    assert run.eval(examples=32)["step"] == 30 and run.at(10).eval(examples=32)["step"] == 10
    assert run.heads(examples=8)["examples"] == 8 and "Held-out example 2" in run.show(2)
    assert run.patch(clean=0, attribution=True)["agreement"]["v"]["seen"] > 0.99
    assert {found["measure"] for found in run.probe("entropy")["found"]} >= {"entropy.mean"}
    assert not glob.glob(run.directory + "/patch") and not glob.glob(run.directory + "/heads")


def test_sweeps_are_those_of_the_program():
    said("sweep", "--lr", "0.001,0.01", "--d-k", "4,8", "--seed", "1..2", "--steps", "5", "--out", "want", "--quiet")
    options = {"lr": [0.001, 0.01], "d_k": (4, np.int64(8)), "seeds": 2, "steps": 5}
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        cells = [qkv.sweep(out="one", **options), qkv.sweep(out="parts", executor=executor, **options)]
    for out in "one", "parts":
        assert open("want/cells.csv").read() == open(out + "/cells.csv").read(), out
    assert len(cells[0]["lr"]) == 8 and list(cells[1]["d_k"][:4]) == list(cells[0]["d_k"][:4])
    both = qkv.sweep(rates=["*.wq=2,*.wk=2", "*.wv=2"], bias=[True, False], steps=1)
    assert sorted(set(both["rates"])) == ["*.wq=2,*.wk=2", "*.wv=2"] and len(both["bias"]) == 4
    raises(qkv.UsageError, "lrr", qkv.sweep, lrr=[1, 2])


def test_frames_where_pandas_is_there():
    try:
        import pandas
    except ImportError:
        raises(ImportError, "pandas", trained().frame)
        raise unittest.SkipTest("no pandas")
    frame = trained().frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame["step"]) == [0, 10, 20, 30]
    cells = qkv.sweep(lr=[0.1, 0.2], steps=1)
    assert isinstance(cells, pandas.DataFrame) and list(cells["lr"]) == [0.1, 0.2]


def test_errors_are_the_programs():
    error = raises(qkv.UsageError, "unknown option '--stepz'", qkv.train, stepz=3)
    assert error.code == 2 and isinstance(error, qkv.QkvError) and isinstance(error, ValueError)
    error = raises(qkv.DivergedError, "is not finite", qkv.train, out="bad", optimizer="sgd", lr=1e5, steps=50)
    assert error.code == 4
    error = raises(qkv.QkvError, "no directory 'nowhere'", qkv.open, "nowhere")
    assert error.code == 1 and type(error) is qkv.QkvError
    raises(qkv.UsageError, "no state at step 31", trained().at(31).words)
    raises(qkv.UsageError, "no example", trained(**FEW).words, 99)
    run = qkv.open(shutil.copytree(trained().directory, "damaged"))
    path, = glob.glob("damaged/step-*.safetensors")
    data = bytearray(open(path, "rb").read())
    data[20] = 1
    open(path, "wb").write(data)
    assert raises(qkv.DamagedError, "", run.words).code == 3


FEW = {"task": "file", "data": os.path.abspath("few.txt")}
with open("few.txt", "w") as few:
    few.writelines(f"{a} {b} => {a}\n" for a in "abcdefg" for b in "abcdefg" if a != b)


def test_another_version_is_a_warning():
    directory = shutil.copytree(trained().directory, "later")
    text = open(directory + "/config.json").read()
    open(directory + "/config.json", "w").write(re.sub(r'"numbers": "\d+"', '"numbers": "99"', text))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        qkv.open(directory).at(5).words()
    assert any("by a version whose gradients differ" in str(note.message) for note in notes), notes


def fake(name, text):
    with open(name, "w") as file:
        file.write(text)
    os.chmod(name, stat.S_IRWXU)
    return os.path.abspath(name)


def with_program(path, function, search="/nowhere"):
    kept = dict(os.environ)
    try:
        os.environ.pop("QKV")
        os.environ["PATH"] = search
        if path:
            os.environ["QKV"] = path
        return function()
    finally:
        os.environ.update(kept)


def test_the_program_is_found_or_missed():
    raises(qkv.QkvError, "no program qkv in this package", with_program, None, qkv.program)
    raises(qkv.QkvError, "which is no program", with_program, "/nowhere/qkv", qkv.program)
    raises(qkv.QkvError, "which is no program", with_program, "/", qkv.program)
    os.makedirs("path")
    os.symlink(PROGRAM, "path/qkv")
    assert with_program(None, qkv.program, os.path.abspath("path")).endswith("path/qkv")
    other = fake("other", "\x7fELF of another processor")  # as a wheel's where it does not belong
    raises(qkv.QkvError, "does not run on this system (Exec format error)", with_program, other, qkv.program)
    old = fake("old", "#!/bin/sh\necho qkv 0.0.9\n")
    raises(qkv.QkvError, "is 0.0.9, and this package is for qkv 0.1", with_program, old, qkv.program)
    dies = fake("dies", "#!/bin/sh\n[ $1 = --version ] && echo qkv 0.1.7 && exit\nkill -9 $$\n")
    error = raises(qkv.QkvError, "exit code -9", with_program, dies, lambda: qkv.open("x"))
    assert error.code == -9
    inside = os.path.join("copy", "qkv")  # a package that carries it, as the wheel does
    shutil.copytree(os.path.dirname(qkv.__file__), inside)
    os.makedirs(inside + "/bin")
    os.symlink(PROGRAM, inside + "/bin/qkv")
    found = with_program(None, lambda: subprocess.run(
        [sys.executable, "-c", "import qkv; print(qkv.program())"], cwd="copy", capture_output=True, text=True,
        env={"PATH": "/nowhere"}))
    assert found.stdout.strip().endswith("copy/qkv/bin/qkv"), found


def test_notebooks_show_the_page():
    os.makedirs("alone")
    shutil.copy(PROGRAM, "alone/qkv")
    run = trained()
    assert "the page is not there" in with_program(os.path.abspath("alone/qkv"), run._repr_html_)
    if not os.path.exists(os.path.dirname(PROGRAM) + "/qkv.html"):
        raise unittest.SkipTest("no page beside the program (make page)")
    shown = run.at(20)._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and len(shown) > 500000 and "http-equiv=&quot;refresh" not in shown


def test_transformer_lens_says_the_same():
    try:
        import torch
        from transformer_lens import HookedTransformer  # noqa: F401  (4.0 has none)
    except ImportError:
        raises(ImportError, "", trained(task="induction").to_transformer_lens)
        raise unittest.SkipTest("no transformer_lens with a HookedTransformer")
    for options in ({}, {"heads": 2, "kv_heads": 1, "norm": "rms", "d_ff": 16, "bias": True},
                    {"norm": "layer", "d_ff": 16, "activation": "gelu-tanh", "bias": True, "tie": "qk"}):
        run = trained(task="mqar", **options)
        model = run.to_transformer_lens()
        row = json.loads(said("data", "mqar", "--split", "test", "--n", "1", "--json").splitlines()[0])
        with torch.no_grad():
            logits = model(torch.tensor([row["sequence"][0]["ids"]]))[0].numpy()
        asked = np.array(row["readouts"][0]["targets"]) >= 0
        assert np.abs(logits[asked] - run.example(0).logits()).max() < 1e-5, options
    raises(qkv.QkvError, "one sequence of one symbol", trained().to_transformer_lens)
    raises(qkv.QkvError, "no like of softmax_one", trained(task="mqar", softmax_one=True).to_transformer_lens)


def test_what_the_page_shows_comes_out():
    """docs/python.md: its blocks of Python run in one notebook; what follows one as text is what it prints."""
    text = open(os.path.join(ROOT, "docs/python.md")).read()
    names, printed, blocks = {}, "", 0
    for kind, block in re.findall(r"```(python|text)\n(.*?)```", text, re.S):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(block, names)
            printed, blocks = out.getvalue(), blocks + 1
        else:
            want = ".*".join(re.escape(part) for part in block.strip().split("..."))
            assert re.fullmatch(want, printed.strip(), re.S), f"expected:\n{block}\nprinted:\n{printed}"
    assert blocks > 5


def main():
    tests = {name[5:]: function for name, function in globals().items() if name.startswith("test_")}
    ended = {"OK": [], "SKIPPED": [], "FAILED": []}
    print(f"registered {len(tests)}")
    for name, function in tests.items():
        print(f"[ RUN      ] {name}")
        try:
            function()
            how = "OK"
        except unittest.SkipTest as why:
            print(f"    cannot run: {why}")
            how = "SKIPPED"
        except Exception:  # whatever it is
            print("    " + traceback.format_exc().replace("\n", "\n    ").rstrip())
            how = "FAILED"
        ended[how].append(name)
        print("[ %s ] %s" % (how.rjust(8) if how == "OK" else (" " + how).ljust(8), name), flush=True)
    print(f"[==========] {len(tests)} test(s) run.\n[  PASSED  ] {len(ended['OK'])} test(s).")
    for how in "SKIPPED", "FAILED":
        if ended[how]:
            print("[ %s ] %d test(s), listed below:" % ((" " + how).ljust(8), len(ended[how])))
            print("".join("[ %s ] %s\n" % ((" " + how).ljust(8), name) for name in ended[how]), end="")
    return bool(ended["FAILED"])


if __name__ == "__main__":
    sys.exit(main())

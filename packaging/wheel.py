"""wheel.py PACKAGE PROGRAM VERSION NOTICES OUT - a wheel of the Python package in PACKAGE (python/qkv) and a static
PROGRAM, which lies in it as qkv/bin/qkv. The same bytes for the same SOURCE_DATE_EPOCH. A build back end would want
setuptools or the network, and has no tag for a package whose only binary is a program."""
import base64
import hashlib
import os
import re
import sys
import time
import zipfile

package, program, version, notices, out = sys.argv[1:]
tag = "py3-none-manylinux_2_17_x86_64"
info = f"qkv-{version}.dist-info"
files = {}
for folder, _, names in os.walk(package):
    for name in names:
        path = os.path.join(folder, name)
        inside = "qkv/" + os.path.relpath(path, package)
        if "__pycache__" not in inside and not inside.startswith("qkv/bin/"):
            files[inside] = open(path, "rb").read()
numpy = any(re.search(rb"^\s*(import|from) numpy", text, re.M) for name, text in files.items() if name.endswith(".py"))
files["qkv/bin/qkv"] = open(program, "rb").read()
metadata = ["Metadata-Version: 2.1", "Name: qkv", f"Version: {version}", "Summary: see how attention learns",
            "License: MIT", "Requires-Python: >=3.9", *["Requires-Dist: numpy"] * numpy, "License-File: NOTICES.txt", ""]
wheel = ["Wheel-Version: 1.0", "Generator: packaging/wheel.py", "Root-Is-Purelib: false", f"Tag: {tag}", ""]
files[f"{info}/METADATA"] = "\n".join(metadata).encode()
files[f"{info}/WHEEL"] = "\n".join(wheel).encode()
files[f"{info}/entry_points.txt"] = b"[console_scripts]\nqkv = qkv.__main__:main\n"
files[f"{info}/NOTICES.txt"] = open(notices, "rb").read()


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in sorted(files.items())]
files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
with zipfile.ZipFile(os.path.join(out, f"qkv-{version}-{tag}.whl"), "w") as whole:
    for name in sorted(files, key=lambda n: (n.startswith(info), n)):  # the description last, as PEP 427 asks
        entry = zipfile.ZipInfo(name, when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = (0o100755 if name == "qkv/bin/qkv" else 0o100644) << 16
        whole.writestr(entry, files[name])

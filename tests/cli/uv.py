# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for uv and for pip."""

# Stands in for uv: locks what is asked of it, except the targets with the requirement in UV_FAILS.
UV = """
import json, os, pathlib, re, sys, time
note = pathlib.Path(os.environ["UV_NOTE"])
if os.environ.get("UV_SLEEPS"):
    note.write_text(str(os.getpid()))
    time.sleep(60)
names = ("UV_DEFAULT_INDEX", "SSL_CERT_FILE")
found = {name: os.environ.get(name) for name in names} | {"argv": sys.argv}
with note.open("a") as file:
    file.write(json.dumps(found) + "\\n")
folder = pathlib.Path()
requirements = " ".join(path.read_text() for path in sorted(folder.glob("*.in")))
fails = os.environ.get("UV_FAILS")
if fails and fails in requirements:
    sys.exit(os.environ["UV_SAYS"])
text = "# by a stand-in for uv\\n" * 100
output = folder / sys.argv[sys.argv.index("--output-file") + 1]
for path in sorted(folder.glob("*.in")):
    for line in path.read_text().split():
        name, _, version = re.sub("[<>].*", "", line).partition("==")
        bound = re.search("<([1-9][0-9]*)", line)
        if output.name == "pylock.toml":
            file = f"{name.replace('-', '_')}-{version}-0-py3-none-any.whl"
            url = f"https://index.example.com/{file}"
            text += f"[[packages]]\\nname = '{name}'\\nversion = '{version}'\\n"
            text += f"wheels = [{{ url = '{url}', hashes = {{ sha256 = '{'0' * 64}' }} }}]\\n"
        else:
            version = version or (int(bound[1]) - 1 if bound else 26)
            text += f"{name}=={version}\\n    # via -r {path.name}\\n"
output.write_text(text)
"""

# Stands in for pip, which reads the metadata of wheels: six has none, and others want six below 27.
PIP = """
import json, pathlib, sys
pins = pathlib.Path("pins.txt").read_text().split()
found = []
for name, _, version in (pin.partition("==") for pin in pins):
    wants = [] if name == "six" else ["six<27", "absent>=1"]
    metadata = {"name": name, "requires_dist": wants, "requires_python": ">=3.8"}
    found.append({"metadata": metadata})
report = sys.argv[sys.argv.index("--report") + 1]
pathlib.Path(report).write_text(json.dumps({"install": found}))
"""
UNSOLVED = "No solution found when resolving dependencies: torch wants another world"

# SPDX-License-Identifier: Apache-2.0
"""Image checks of a target with JupyterLab and nginx: they start, and find their files."""

from __future__ import annotations

from testinfra.host import Host

FETCH = """\
import re, sys, time, urllib.request
def get(path):
    for _ in range(600):
        try:
            with urllib.request.urlopen("http://127.0.0.1:" + path) as answer:
                return answer.status, answer.read().decode()
        except OSError as error:
            time.sleep(0.1)
            last = error
    raise last
"""
KERNEL = """\
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(startup_timeout=120)
said = []
client.execute_interactive("print(1 + 1)", timeout=60, output_hook=said.append)
manager.shutdown_kernel(now=True)
print([each["content"]["text"] for each in said if each["msg_type"] == "stream"])
"""
NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


def python(host: Host, program: str) -> str:
    said: str = host.check_output("python3 -c %s", program)
    return said


def test_lab_has_its_page_and_its_assets(host: Host) -> None:
    assert host.check_output("jupyter lab --version") == "4.5.0"
    host.check_output(
        "cd /tmp; nohup jupyter lab --allow-root --no-browser --ip 127.0.0.1 --port 8888"
        " --IdentityProvider.token='' >/tmp/lab.log 2>&1 & echo $! >/tmp/lab.pid"
    )
    read = FETCH + (
        'status, page = get("8888/lab")\n'
        "scripts = re.findall(r'src=\"(/static/lab/[^\"]+\\.js)', page)\n"
        'print(status, len(scripts) > 0, {get("8888" + each)[0] for each in scripts})\n'
    )
    assert python(host, read) == "200 True {200}", host.run("cat /tmp/lab.log").stdout
    host.check_output("kill $(cat /tmp/lab.pid)")


def test_a_kernel_computes(host: Host) -> None:
    assert python(host, KERNEL) == "['2\\n']"


def test_nbconvert_has_its_templates(host: Host) -> None:
    host.check_output("printf %s >/tmp/x.ipynb", NOTEBOOK)
    host.check_output("cd /tmp && jupyter nbconvert --to html x.ipynb")
    assert "jp-Notebook" in host.file("/tmp/x.html").content_string


def test_nginx_serves(host: Host) -> None:
    host.check_output("nginx -t")
    host.check_output("nginx")
    read = FETCH + 'status, page = get("80/")\nprint(status, "Welcome to nginx" in page)\n'
    assert python(host, read) == "200 True"
    host.check_output("nginx -s stop")


def test_no_log_or_cache_folder_is_missing(host: Host) -> None:
    """What images leave out is below /usr; no folder of a log or a cache is missing."""
    missing = host.run("dpkg --verify").stdout
    assert [line for line in missing.splitlines() if "/var/" in line or "/run/" in line] == []


def test_pip_removes_all_of_a_wheel(host: Host) -> None:
    """This is the last check, because JupyterLab is gone then."""
    assert host.file("/usr/local/share/jupyter/lab/static/index.html").exists
    assert host.file("/usr/local/etc/jupyter/jupyter_server_config.d/jupyterlab.json").exists
    host.check_output("pip uninstall --yes jupyterlab")
    # pip leaves empty folders everywhere.
    left = "find /usr/local -type f '(' -name 'jupyterlab*' -o -path '*/share/jupyter/lab/*' ')'"
    others = ("jupyterlab_pygments", "jupyterlab_server")
    found = host.check_output(left).splitlines()
    assert [path for path in found if not any(name in path for name in others)] == []

# SPDX-License-Identifier: Apache-2.0
"""Scripts for machines without a container engine: apptainer, and Slurm's batch files with it.

Sources: apptainer.org's user guide. A container has the user, the network, /dev, the home directory
and the working directory of its host, a read-only root, and with --cleanenv of the host's variables
only those that begin with APPTAINERENV_ (--env divides values at commas). slurm.schedmd.com, sbatch
and srun: SLURM_NODEID numbers the nodes of a job.
"""

from __future__ import annotations

import shlex

from cannery.deploy.clusters import RENDEZVOUS
from cannery.deploy.run_spec import (
    DRIVER_MOUNTS,
    MULTI_NODE_MOUNTS,
    VISIBLE_TO_CANN,
    shell_text,
)
from cannery.deploy.workload import Workload

_PASSED = "APPTAINERENV_"


def apptainer_text(workload: Workload) -> str:
    """A script with one command."""
    lines = ["#!/bin/bash", f"# {workload.title}: bash FILE", *_made(workload)]
    lines += _exports(workload)
    return "\n".join([*lines, "exec " + shell_text(_argv(workload))]) + "\n"


def slurm_text(workload: Workload) -> str:
    """A batch file that starts the command once on each node."""
    cards = len(workload.cards)
    lines = [
        "#!/bin/bash",
        f"# {workload.title}: sbatch FILE",
        f"#SBATCH --job-name={workload.name}",
        f"#SBATCH --nodes={workload.nodes}",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --output=%x-%j.log",
        "# Whole nodes, so that their first cards are free. If your cluster counts cards, replace",
        f"# the line with its name of them, such as --gres=npu:{cards} ('sinfo --format %G').",
        "#SBATCH --exclusive",
        "set -euo pipefail",
        *_made(workload),
        *_exports(workload),
    ]
    start = ["srun", "--kill-on-bad-exit=1"]
    if workload.nodes > 1:
        lines += [
            "# The nodes find each other by these variables.",
            'nodes="$(scontrol show hostnames "$SLURM_JOB_NODELIST")"',
            f"export {_PASSED}MASTER_ADDR=\"${{nodes%%$'\\n'*}}\"",
            f"export {_PASSED}MASTER_PORT={RENDEZVOUS}",
            f"export {_PASSED}NNODES={workload.nodes}",
            f"export {_PASSED}NPROC_PER_NODE={cards}",
        ]
        rank = f'export {_PASSED}NODE_RANK="$SLURM_NODEID" {_PASSED}RANK="$SLURM_NODEID"; exec "$@"'
        start += ["bash", "-c", rank, "node"]
    return "\n".join([*lines, shell_text([*start, *_argv(workload)])]) + "\n"


def _exports(workload: Workload) -> list[str]:
    variables = {
        # Packages of the home directory would go before those of the image.
        "PYTHONNOUSERSITE": "1",
        VISIBLE_TO_CANN: ",".join(map(str, workload.cards)),
        **workload.environment,
        **workload.asked.environment,
    }
    return [
        f"export {_PASSED}{name}={shlex.quote(value or '')}" for name, value in variables.items()
    ]


def _folders(workload: Workload) -> dict[str, str]:
    """The application's folders, less those in root's home, which only root can enter."""
    return {s: where for s, where in workload.volumes.items() if not where.startswith("/root/")}


def _made(workload: Workload) -> list[str]:
    return [shlex.join(["mkdir", "--parents", *folders])] if (folders := _folders(workload)) else []


def _argv(workload: Workload) -> list[str]:
    driver = (*DRIVER_MOUNTS, *(MULTI_NODE_MOUNTS if workload.nodes > 1 else ()))
    if workload.simulate_host:
        driver = DRIVER_MOUNTS
    binds = [
        *(f"{workload.simulate_host or ''}{path}:{path}:ro" for path in driver),
        *(f"{source}:{where}:ro" for source, where in workload.asked.mounts.items()),
        *(
            f"{source}:{where}"
            for source, where in {**_folders(workload), **workload.mounts}.items()
        ),
    ]
    # A name without a path is of an image that was built here.
    scheme = "docker://" if "/" in workload.image else "docker-daemon:"
    argv = ["apptainer", "exec" if workload.command else "shell", "--cleanenv"]
    argv += [word for bind in binds for word in ("--bind", bind)]
    return [*argv, f"{scheme}{workload.image}", *workload.command]

"""The ready files for clusters: by Ray's own schema, by a dry run with stand-ins, and closed to strangers."""

import os
import stat
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from folklore.harness.use.cli import app
from tests.command_line import HANG_SECONDS

FILES = files("folklore.harness") / "use" / "deploy"
STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0")" in
  scontrol) printf 'alpha\\nbeta\\n' ;;
  srun) echo "token ${#RAY_AUTH_TOKEN} $RAY_AUTH_MODE" >> "$CALLS"; exec sleep 30 ;;
  folklore) sleep "${DRIVER_SECONDS:-0}"; exit "${DRIVER_CODE:-0}" ;;
esac
"""


@pytest.mark.parametrize("name", ["kuberay", "slurm", "ray-up"])
def test_they_are_printed(name: str) -> None:
    result = CliRunner().invoke(app, ["deploy", name])
    assert result.exit_code == 0
    assert "RAY_AUTH_MODE" in result.stdout or "authOptions" in result.stdout
    assert "folklore run" in result.stdout


def test_ray_up_by_rays_own_schema() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = yaml.safe_load((FILES / "ray-up.yaml").read_text())
    validate_config(prepare_config(config))
    (install,) = config["setup_commands"]
    assert install == "sh ~/folklore-bundle/install.sh ~/folklore", "the script that `folklore bundle` writes"
    for command in (*config["head_start_ray_commands"], *config["worker_start_ray_commands"]):
        assert "~/folklore/bin/ray " in command, "the environment that it makes"
    config["provider"]["head_up"] = config.pop("file_mounts")
    config["unknown"] = 1
    with pytest.raises(Exception, match="unknown"):
        validate_config(config)


def test_the_ray_job_is_whole_and_asks_for_a_token() -> None:
    """By what KubeRay's definition of a RayJob requires; the operator itself is not at hand."""
    job, policy = yaml.safe_load_all((FILES / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    # The operator gives it to every container, and shows it to the dashboard, which it must reach.
    assert cluster["authOptions"] == {"mode": "token", "secretName": "folklore-ray"}, "no token in the file itself"
    assert "dashboard-host" not in cluster["headGroupSpec"]["rayStartParams"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    for group in groups:
        assert all(isinstance(value, str) for value in group["rayStartParams"].values()), "KubeRay takes texts alone"
        (container,) = group["template"]["spec"]["containers"]
        assert group["template"]["metadata"]["labels"] == labels, "the network policy is of all pods"
        assert group["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["resources"]["limits"] == container["resources"]["requests"]
    for worker in cluster["workerGroupSpecs"]:
        assert worker["minReplicas"] <= worker["replicas"] <= worker["maxReplicas"]
        assert worker["groupName"]


@pytest.fixture
def stand_ins(tmp_path: Path) -> dict[str, str]:
    """Slurm, Ray and the command, which only note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("scontrol", "srun", "folklore"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(stat.S_IRWXU)
    calls = tmp_path / "calls"
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    without_token = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    return {**without_token, "PATH": path, "CALLS": str(calls), "SLURM_JOB_NODELIST": "x[1-2]", "RAY_START_SECONDS": "0.2"}


@pytest.mark.parametrize("code", [0, 1])
def test_slurm_starts_a_head_and_workers_and_passes_the_exit_code_on(stand_ins: dict[str, str], code: int) -> None:
    stand_ins["DRIVER_CODE"] = str(code)
    command = ["bash", str(FILES / "slurm.sh"), "warmup", "--scale", "cluster"]
    done = subprocess.run(command, env=stand_ins, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert done.returncode == code, done.stderr
    calls = Path(stand_ins["CALLS"]).read_text().splitlines()
    assert sum("ray start --head" in call for call in calls) == 1
    assert sum("ray start --address=alpha:6379" in call for call in calls) == 2
    assert "folklore run warmup --scale cluster --address alpha:6379" in calls
    assert [call for call in calls if call.startswith("token")] == ["token 64 token"] * 3


def test_slurms_warning_reaches_the_driver(stand_ins: dict[str, str]) -> None:
    stand_ins["DRIVER_SECONDS"] = "30"
    script = subprocess.Popen(["bash", str(FILES / "slurm.sh"), "warmup"], env=stand_ins, start_new_session=True)
    calls = Path(stand_ins["CALLS"])
    while not calls.exists() or "folklore run" not in calls.read_text():
        pass
    script.terminate()
    assert script.wait(timeout=HANG_SECONDS) != 0

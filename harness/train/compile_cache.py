"""Where compiled programs are kept: a folder for each kind of machine.

Torch's compiler keeps the C++ it wrote under a key that holds neither the processor nor its vector width (torch 2.13: of a
machine without a GPU `CacheBase.get_system` is empty). Source with loops for 16 numbers at a time is then found under
ATEN_CPU_CAPABILITY=avx2, compiled again for vectors of 8, and skips half of each loop, or writes beyond the end of a tensor
the other way round. And a library is kept under its command line, where `-march=native` names no processor.
"""

import os
import platform
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import torch

from ..declare import fingerprint

VARIABLE, PREFIX = "TORCHINDUCTOR_CACHE_DIR", "folklore-"
COMPILERS = ("g++", "clang++", "c++")
COMPILER_SECONDS = 20.0


def cpp_compiler() -> str:
    """The C++ compiler on this machine, with its folder; '' if there is none."""
    return next((path for name in (os.environ.get("CXX", ""), *COMPILERS) if name and (path := shutil.which(name))), "")


def separate() -> str:
    """Make this process and those it starts keep their programs apart from those of other kinds of machines.

    Returns the folder: inside the one that TORCHINDUCTOR_CACHE_DIR names, else inside torch's own.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir  # seconds to import, and needed to compile alone

    root = Path(os.environ.get(VARIABLE) or default_cache_dir()).absolute()
    if root.name.startswith(PREFIX):  # set by this function, here or in a process that started this one
        root = root.parent
    os.environ[VARIABLE] = str(root / f"{PREFIX}{machine_kind()}")
    return os.environ[VARIABLE]


def machine_kind() -> str:
    """A key for everything that decides a program's instructions: equal on machines that can share one."""
    # Read again at each call: the choice of vectors and of the compiler.
    return fingerprint({**_fixed_facts(), "vectors": _vectors(), "compiler": _version(cpp_compiler())})


def _vectors() -> list[str]:
    """The vectors that torch's own kernels use, and those that its compiler is told to use."""
    return [torch.backends.cpu.get_cpu_capability(), os.environ.get("ATEN_CPU_CAPABILITY", "").lower()]


@lru_cache(maxsize=1)
def _fixed_facts() -> dict[str, object]:
    return {
        "torch": [torch.__version__, torch.version.git_version],
        "python": platform.python_version(),
        "system": [platform.system(), platform.machine()],
        "processor": _processor(Path("/proc/cpuinfo")),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }


def _processor(path: Path) -> list[str]:
    """Model and instructions of the first core; instructions are `flags` on x86 and `Features` on ARM."""
    if not path.exists():
        return [platform.processor()]
    first_core = path.read_text().partition("\n\n")[0].splitlines()
    pairs = [(name.strip(), " ".join(sorted(value.split()))) for name, _, value in (line.partition(":") for line in first_core)]
    names = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "CPU implementer", "CPU part", "Features")
    return [value for name, value in pairs if name in names]


@lru_cache(maxsize=4)
def _version(compiler: str) -> str:
    if not compiler:
        return ""
    try:
        said = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=COMPILER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return compiler
    return said.stdout.partition("\n")[0]

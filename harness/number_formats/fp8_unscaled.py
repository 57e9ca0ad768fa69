"""FP8 operands as they are; emulated."""

from dataclasses import replace

from . import fp8

FORMAT = replace(fp8.FORMAT, scaled=False)

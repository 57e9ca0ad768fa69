"""FP8 operands as they are; emulated."""

from dataclasses import replace

from . import fp8

PRECISION = replace(fp8.PRECISION, scaled=False)

"""From stored trials to observations, and from those to verdicts, by regions declared beforehand."""

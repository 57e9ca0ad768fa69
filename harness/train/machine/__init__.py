"""This machine and its free resources: devices, memory, control groups, load. Knows nothing of studies."""

"""What this machine is and has left: devices, memory, control groups, load. Knows nothing of studies."""

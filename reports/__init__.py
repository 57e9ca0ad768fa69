"""Pages as a pure function of stored trials, and the published evidence."""

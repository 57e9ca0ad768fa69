"""From a study at a scale to trials with digests, packs, and what they cost. Trains nothing."""

"""Training what a plan has left: one run, its campaign, the queue of packs, jobs on workers. The only imports of ray."""

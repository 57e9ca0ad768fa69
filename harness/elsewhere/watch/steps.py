"""The step of a loop that a loss belongs to, whether or not an update follows it."""

# Before two updates have shown how many losses a step has, this number may be of one step.
MOST_LOSSES = 64


class Steps:
    """Counts the steps of a loop. updates: of the watched optimizer. idle: steps that had losses and no update. losses: as they
    came; since_update: those after the last update. usual: losses that a step has, by the updates so far; 0 if unknown.
    is_after: losses come after the updates that they belong to."""

    def __init__(self) -> None:
        self.updates = self.idle = self.losses = self.since_update = self.usual = 0
        self.is_after = False
        self._of_step = self._before = 0

    @property
    def done(self) -> int:
        return self.updates + self.idle

    @property
    def stalls(self) -> bool:
        """Whether the losses without an update are too many to be of one step."""
        return MOST_LOSSES < self.since_update <= MOST_LOSSES + max(self.usual, 1)

    @property
    def has_stalled(self) -> bool:
        """Whether losses come and updates do not: more than five steps of them."""
        return self.since_update > 5 * max(self.usual, 1)

    def take_loss(self) -> int:
        """The step of the loss that comes now. One more than a step usually has shows that the update of the others never
        came."""
        self.is_after |= self.updates > 0 and not self.losses
        if self._of_step >= self._most():
            self.idle += 1
            self._of_step = 0
        self.losses += 1
        self._of_step += 1
        self.since_update += 1
        return self.done if self.is_after else self.done + 1

    def take_update(self) -> None:
        """Losses of steps that were skipped come before an update, too: only a number that two updates had is usual."""
        if self.since_update:
            self.usual = max(self.usual, min(self.since_update, self._before))
            self._before = self.since_update
        self.updates += 1
        self._of_step = self.since_update = 0

    def _most(self) -> int:
        if self.is_after:
            return 1
        return self.usual or (MOST_LOSSES if self.since_update <= MOST_LOSSES else 1)

"""Seeded draws that are the same in every version of Python: all of them from `random()` alone."""
import math
import random


class Draw:
    def __init__(self, name):
        self.uniform = random.Random(name).random      # in [0, 1)

    def below(self, n):
        return int(self.uniform() * n)

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def exponential(self, mean):
        return -mean * math.log(1 - self.uniform())

    def scatter(self, share):
        """A factor near 1 whose logarithm has this standard deviation."""
        turn = 2 * math.pi * self.uniform()
        normal = math.sqrt(-2 * math.log(1 - self.uniform())) * math.cos(turn)
        return math.exp(share * normal)

    def pick(self, items):
        return items[self.below(len(items))]


class Zipf:
    """Ranks 0 to n - 1, each as popular as 1 / (rank + 1)."""

    def __init__(self, n):
        total, self.sums = 0.0, []
        for rank in range(n):
            total += 1 / (rank + 1)
            self.sums.append(total)

    def draw(self, draw):
        at = draw.uniform() * self.sums[-1]
        return next(rank for rank, upto in enumerate(self.sums) if at < upto)

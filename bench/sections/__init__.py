"""The parts of the run. Each has functions that start servers of their own and give one Section."""

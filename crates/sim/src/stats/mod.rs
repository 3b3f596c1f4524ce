//! Statistics of runs: intervals, paired differences, warm-up. Knows nothing of what the numbers mean.

//! What is put together for a run: machine, policy, workload, seed. Knows nothing of files but their texts.

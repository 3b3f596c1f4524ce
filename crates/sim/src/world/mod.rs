//! The event loop: processors, threads, barriers, the operating system's scheduler, and the engine's shell. Knows no policy.

//! Embedded default reviewer: turns analyzers' observations into results.

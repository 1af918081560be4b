//! Launches a configured command template.

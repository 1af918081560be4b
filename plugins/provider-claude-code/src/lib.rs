//! Launches Claude Code.

//! Reads the limits that Anthropic's services tell.

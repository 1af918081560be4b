//! Finds secrets, conflict markers, keys, permissions and dangerous calls in text of any language.

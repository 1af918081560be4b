//! assize

//! Paths as reviewers write them, brought to the form that tasks use.

/// Why a path can belong to no repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadPath {
    /// Nothing is left of it.
    Empty,
    /// It starts at a root, a drive or a scheme.
    Absolute,
    /// It climbs out of the repository.
    Escaping,
}

/// A repository-relative path with `/` between its parts and without `.` and `..`.
pub(super) fn normal_path(raw: &str) -> Result<String, BadPath> {
    let path = raw.trim().replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.starts_with('/') || path.starts_with("~/") || drive || path.contains("://") {
        return Err(BadPath::Absolute);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(BadPath::Escaping)?;
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { Err(BadPath::Empty) } else { Ok(parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_path() {
        for raw in ["./src/a.rs", "src\\a.rs", "src//./a.rs", " src/b/../a.rs "] {
            assert_eq!(normal_path(raw).as_deref(), Ok("src/a.rs"), "{raw}");
        }
    }

    #[test]
    fn nothing_outside_the_repository_is_a_path() {
        for raw in ["/etc/passwd", "C:\\x", "c:/x", "file:///x", "\\\\host\\x", "~/x"] {
            assert_eq!(normal_path(raw), Err(BadPath::Absolute), "{raw}");
        }
        assert_eq!(normal_path("a/../../b"), Err(BadPath::Escaping));
        assert_eq!(normal_path(" ./ "), Err(BadPath::Empty));
    }
}

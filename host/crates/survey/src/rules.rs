//! Ignore rules and attributes of nested files, matched as git matches them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::Problem;
use crate::open::read_small;

/// Bytes of one rule file; far more than people write, far less than what would slow every match.
const RULE_FILE_LIMIT: u64 = 256 * 1024;

/// Why an entry is ignored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// By git's rules.
    Vcs,
    /// By the user's `.assizeignore`.
    User,
}

/// What attributes say of a file; `None` where they say nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    pub(crate) vendored: Option<bool>,
    pub(crate) generated: Option<bool>,
}

/// The rules in force in one directory, outermost first. Cheap to clone: a directory without rule files shares its parent's.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    git: Stack,
    own: Stack,
    vendored: Stack,
    generated: Stack,
}

type Stack = Arc<Vec<Arc<Level>>>;

/// Rules of one file.
struct Level {
    /// Bytes of the paths to match that stand before what the rules are relative to.
    skip: usize,
    rules: Gitignore,
}

impl Rules {
    /// Adds a file of git's ignore rules, relative to paths without their first `skip` bytes.
    pub(crate) fn add_git(&mut self, file: &Path, skip: usize, shown: &str, problems: &mut Vec<Problem>) {
        push_ignore(&mut self.git, file, skip, shown, problems);
    }

    /// Adds a file of the user's ignore rules.
    pub(crate) fn add_own(&mut self, file: &Path, skip: usize, shown: &str, problems: &mut Vec<Problem>) {
        push_ignore(&mut self.own, file, skip, shown, problems);
    }

    /// Adds a file of attributes.
    pub(crate) fn add_attributes(&mut self, file: &Path, skip: usize, shown: &str, problems: &mut Vec<Problem>) {
        let Some(text) = read_rules(file, shown, problems) else { return };
        for (stack, attribute) in
            [(&mut self.vendored, "linguist-vendored"), (&mut self.generated, "linguist-generated")]
        {
            let lines = text.lines().filter_map(|line| derive_attribute_rule(line, attribute));
            push(stack, lines, skip, shown, problems);
        }
    }

    /// Whether a path, relative to the outermost rules, is ignored. Its parents are not asked: the walk did.
    pub(crate) fn ignored(&self, path: &[u8], is_dir: bool) -> Option<Ignored> {
        match last_match(&self.own, path, is_dir) {
            Some(true) => Some(Ignored::User),
            // The user's own rules can take back what git ignores.
            Some(false) => None,
            None => (last_match(&self.git, path, is_dir) == Some(true)).then_some(Ignored::Vcs),
        }
    }

    /// What attributes say of a file.
    pub(crate) fn attributes(&self, path: &[u8]) -> Attributes {
        Attributes {
            vendored: last_match(&self.vendored, path, false),
            generated: last_match(&self.generated, path, false),
        }
    }
}

/// The innermost rule that matches decides.
fn last_match(stack: &Stack, path: &[u8], is_dir: bool) -> Option<bool> {
    stack.iter().rev().find_map(|level| {
        let inner = path.get(level.skip..)?;
        match level.rules.matched(Path::new(OsStr::from_bytes(inner)), is_dir) {
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
            Match::None => None,
        }
    })
}

fn push_ignore(stack: &mut Stack, file: &Path, skip: usize, shown: &str, problems: &mut Vec<Problem>) {
    if let Some(text) = read_rules(file, shown, problems) {
        push(stack, text.lines().map(str::to_owned), skip, shown, problems);
    }
}

fn push(stack: &mut Stack, lines: impl Iterator<Item = String>, skip: usize, shown: &str, problems: &mut Vec<Problem>) {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        if let Err(error) = builder.add_line(None, &line) {
            problems.push(Problem::new(shown, format!("rule not understood: {error}")));
        }
    }
    match builder.build() {
        Ok(rules) if rules.is_empty() => {}
        Ok(rules) => Arc::make_mut(stack).push(Arc::new(Level { skip, rules })),
        Err(error) => problems.push(Problem::new(shown, format!("rules not applied: {error}"))),
    }
}

/// Text of a rule file. Links are not followed, as git does not follow them.
fn read_rules(file: &Path, shown: &str, problems: &mut Vec<Problem>) -> Option<String> {
    match read_small(file, RULE_FILE_LIMIT) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes?).into_owned();
            Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        }
        Err(error) => {
            problems.push(Problem::new(shown, format!("rules not applied: {error}")));
            None
        }
    }
}

/// An attribute line as an ignore rule: set is a match, unset takes a match back.
fn derive_attribute_rule(line: &str, attribute: &str) -> Option<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', '!', '[']) {
        return None;
    }
    let (pattern, states) = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => line.split_once(char::is_whitespace)?,
    };
    let set = states.split_whitespace().rev().find_map(|state| {
        let (name, value) = state.split_once('=').unwrap_or((state, "true"));
        match name.strip_prefix('-') {
            Some(name) => (name == attribute).then_some(false),
            None => (name == attribute).then_some(value != "false"),
        }
    })?;
    Some(if set { pattern.to_owned() } else { format!("!{pattern}") })
}

#[cfg(test)]
mod tests {
    use super::derive_attribute_rule;

    #[test]
    fn attribute_lines_are_read_as_git_reads_them() {
        let rule = |line| derive_attribute_rule(line, "linguist-generated");
        assert_eq!(rule("*.x linguist-generated"), Some("*.x".to_owned()));
        assert_eq!(rule("*.x text linguist-generated=true"), Some("*.x".to_owned()));
        assert_eq!(rule("a/b -linguist-generated"), Some("!a/b".to_owned()));
        assert_eq!(rule("a/b linguist-generated=false"), Some("!a/b".to_owned()));
        assert_eq!(rule("\"a b\" linguist-generated"), Some("a b".to_owned()));
        assert_eq!(rule("*.x linguist-vendored"), None);
        assert_eq!(rule("# *.x linguist-generated"), None);
    }
}

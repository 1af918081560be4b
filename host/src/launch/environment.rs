//! The environment of a launched program: an allow-list, a home of its own, and what its plugin adds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Passed on as they are. Proxies and certificates are needed to reach a model at all behind a company's gate.
const PASSED: [&str; 15] = [
    "LANG",
    "TZ",
    "USER",
    "LOGNAME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "LANGUAGE",
];

/// Passed on besides when the program uses the user's home, so that a login is found.
const PASSED_WITH_HOME: [&str; 7] =
    ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"];

/// A plugin may not set them: with them the program named in the grant would run code that was not granted.
const REFUSED: [&str; 6] = ["PATH", "BASH_ENV", "ENV", "NODE_OPTIONS", "GCONV_PATH", "GLIBC_TUNABLES"];

/// The same, by their beginning: the dynamic linkers' variables.
const REFUSED_PREFIXES: [&str; 2] = ["LD_", "DYLD_"];

/// Whose home a program sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchHome {
    /// A home and a temporary directory of its own, below the run directory.
    #[default]
    Launch,
    /// The user's.
    User,
}

impl LaunchHome {
    /// From the plugin interface's word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "launch" => Some(Self::Launch),
            "user" => Some(Self::User),
            _ => None,
        }
    }
}

/// Why an environment cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EnvironmentError {
    /// It is not the name of a variable.
    #[error("{0:?} is not the name of a variable: letters, digits and _ only")]
    Name(String),
    /// A plugin may not set it.
    #[error("a plugin may not set {0}: it decides which code runs")]
    Refused(String),
    /// It holds a zero byte.
    #[error("the value of {0} holds a zero byte")]
    Value(String),
    /// The run directory is not text.
    #[error("run directory {} is not UTF-8", .0.display())]
    RunDir(PathBuf),
}

/// The home of a launch.
pub(super) fn home_dir(run_dir: &Path) -> PathBuf {
    run_dir.join("home")
}

/// The temporary directory of a launch.
pub(super) fn temporary_dir(run_dir: &Path) -> PathBuf {
    run_dir.join("tmp")
}

/// Removes home and temporary directory of a launch whose program has ended. What cannot be removed costs its room only.
pub fn clear_home(run_dir: &Path) {
    for path in [home_dir(run_dir), temporary_dir(run_dir)] {
        let _ = std::fs::remove_dir_all(path);
    }
}

/// The whole environment of a program, sorted: the allow-list's part of `inherited`, without entries of `PATH` that are
/// relative or inside the audited repository; `TERM=dumb`; home and temporary directory; and over it `extra`, what the
/// plugin asked for. Everything else, such as the marks that agents leave for those they start, is left out.
pub fn launch_environment(
    inherited: &BTreeMap<String, String>,
    extra: &[(String, String)],
    home: LaunchHome,
    run_dir: &Path,
    repo: &Path,
) -> Result<Vec<(String, String)>, EnvironmentError> {
    let passed = |name: &str| {
        PASSED.contains(&name)
            || name.starts_with("LC_")
            || home == LaunchHome::User && PASSED_WITH_HOME.contains(&name)
    };
    let mut env: BTreeMap<String, String> =
        inherited.iter().filter(|(name, _)| passed(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    if let Some(path) = inherited.get("PATH") {
        env.insert("PATH".to_owned(), path_outside(path, repo));
    }
    env.insert("TERM".to_owned(), "dumb".to_owned());
    if home == LaunchHome::Launch {
        let text = |path: PathBuf| path.into_os_string().into_string();
        let not_text = |_| EnvironmentError::RunDir(run_dir.to_owned());
        env.insert("HOME".to_owned(), text(home_dir(run_dir)).map_err(not_text)?);
        env.insert("TMPDIR".to_owned(), text(temporary_dir(run_dir)).map_err(not_text)?);
    }
    for (name, value) in extra {
        check_variable(name, value)?;
        env.insert(name.clone(), value.clone());
    }
    Ok(env.into_iter().collect())
}

/// Whether a plugin may set a variable.
fn check_variable(name: &str, value: &str) -> Result<(), EnvironmentError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain || name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(EnvironmentError::Name(name.to_owned()));
    }
    if REFUSED.contains(&name) || REFUSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Err(EnvironmentError::Refused(name.to_owned()));
    }
    if value.contains('\0') { Err(EnvironmentError::Value(name.to_owned())) } else { Ok(()) }
}

/// `PATH` without what could lead into the repository.
fn path_outside(path: &str, repo: &Path) -> String {
    let outside: Vec<&str> = path
        .split(':')
        .filter(|entry| Path::new(entry).is_absolute() && !super::resolve::is_inside(Path::new(entry), repo))
        .collect();
    outside.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited() -> BTreeMap<String, String> {
        [
            ("PATH", "/usr/bin:.:/repo/node_modules/.bin:relative:/bin:"),
            ("LC_ALL", "C"),
            ("CLAUDECODE", "1"),
            ("API_KEY", "k"),
            ("HOME", "/home/me"),
            ("LD_PRELOAD", "x.so"),
            ("TERM", "xterm"),
            ("https_proxy", "p"),
            ("XDG_CONFIG_HOME", "/home/me/.config"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn environment(extra: &[(&str, &str)], home: LaunchHome) -> Result<Vec<String>, EnvironmentError> {
        let extra: Vec<_> = extra.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let env = launch_environment(&inherited(), &extra, home, Path::new("/run/1"), Path::new("/repo"))?;
        Ok(env.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn only_the_allow_list_is_passed_on() {
        let expected = [
            "HOME=/run/1/home",
            "LC_ALL=C",
            "MODEL=m",
            "PATH=/usr/bin:/bin",
            "TERM=dumb",
            "TMPDIR=/run/1/tmp",
            "https_proxy=p",
        ];
        assert_eq!(environment(&[("MODEL", "m")], LaunchHome::Launch).unwrap(), expected);
    }

    #[test]
    fn the_users_home_is_passed_on_when_asked_for() {
        let env = environment(&[], LaunchHome::User).unwrap();
        assert!(
            env.contains(&"HOME=/home/me".to_owned()) && env.contains(&"XDG_CONFIG_HOME=/home/me/.config".to_owned())
        );
        assert!(!env.iter().any(|pair| pair.starts_with("API_KEY") || pair.starts_with("CLAUDECODE")));
    }

    #[test]
    fn a_plugin_cannot_choose_the_code_through_a_variable() {
        for name in ["PATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "BASH_ENV"] {
            assert_eq!(environment(&[(name, "x")], LaunchHome::User), Err(EnvironmentError::Refused(name.to_owned())));
        }
        for name in ["", "A=B", "1A", "A B", "Ä"] {
            assert_eq!(environment(&[(name, "x")], LaunchHome::User), Err(EnvironmentError::Name(name.to_owned())));
        }
        assert!(environment(&[("A", "x\0y")], LaunchHome::User).is_err());
    }
}

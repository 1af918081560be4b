//! What can go wrong, one enum a boundary: setting the sandbox up, admitting a component, calling a plugin.

use std::io;

use assize_core::plugin::{PluginError, PluginKind};

use crate::limits::LimitName;

/// The sandbox cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine refuses its own configuration on this machine.
    #[error("component engine cannot be set up: {message}")]
    Engine {
        /// One line.
        message: String,
    },
    /// The thread that advances deadlines cannot be started.
    #[error("deadline thread cannot be started")]
    Ticker(#[source] io::Error),
}

/// A component is not admitted. Each text is one line that begins with where the component came from.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No bytes.
    #[error("{origin}: empty file, not a component")]
    Empty {
        /// Path or name.
        origin: String,
    },
    /// Something else than WebAssembly.
    #[error("{origin}: not a component: {found}")]
    NotAComponent {
        /// Path or name.
        origin: String,
        /// What it seems to be.
        found: &'static str,
    },
    /// A core module where a component belongs.
    #[error(
        "{origin}: a core module, not a component; build it for wasm32-wasip2 or wrap it with `wasm-tools component new`"
    )]
    CoreModule {
        /// Path or name.
        origin: String,
    },
    /// More bytes than a component may have.
    #[error("{origin}: {size} bytes, and a component may have {allowed}")]
    TooLarge {
        /// Path or name.
        origin: String,
        /// Bytes.
        size: usize,
        /// Bytes.
        allowed: usize,
    },
    /// The file breaks off or contradicts itself.
    #[error("{origin}: damaged component: {problem}")]
    Damaged {
        /// Path or name.
        origin: String,
        /// One line.
        problem: String,
    },
    /// It imports what no plugin may have.
    #[error(
        "{origin}: imports `{import}`; a plugin may import only assize:plugin/log@0.1 and, of WASI 0.2, cli, io, clocks, random and filesystem"
    )]
    Import {
        /// Path or name.
        origin: String,
        /// Name of the import.
        import: String,
    },
    /// It speaks another generation of the plugin interface.
    #[error("{origin}: built for assize:plugin {found}; this assize speaks 0.1.x")]
    OtherVersion {
        /// Path or name.
        origin: String,
        /// Version.
        found: String,
    },
    /// It exports none of the three kinds.
    #[error("{origin}: not a plugin: exports none of assize:plugin/provider, rate-limits and analyzer")]
    WrongWorld {
        /// Path or name.
        origin: String,
    },
    /// It exports more than one of the three kinds.
    #[error("{origin}: exports {kinds}; a plugin is of one kind")]
    ManyKinds {
        /// Path or name.
        origin: String,
        /// The interfaces.
        kinds: String,
    },
    /// It does not say what it is.
    #[error("{origin}: exports no assize:plugin/plugin, and so cannot describe itself")]
    NoDescription {
        /// Path or name.
        origin: String,
    },
    /// The engine does not take it.
    #[error("{origin}: cannot be compiled: {problem}")]
    Compile {
        /// Path or name.
        origin: String,
        /// One line.
        problem: String,
    },
    /// A function has another type than the interface, or is missing.
    #[error("{origin}: does not fit assize:plugin 0.1: {problem}")]
    Mismatch {
        /// Path or name.
        origin: String,
        /// One line.
        problem: String,
    },
    /// Asking for the description failed.
    #[error("{origin}: cannot describe itself: {source}")]
    Describe {
        /// Path or name.
        origin: String,
        /// What failed.
        #[source]
        source: CallError,
    },
    /// The description is not one.
    #[error("{origin}: bad description: {field} {problem}")]
    Description {
        /// Path or name.
        origin: String,
        /// Field of the description.
        field: &'static str,
        /// One line.
        problem: String,
    },
    /// The host failed, not the component.
    #[error("{origin}: cannot be admitted: {problem}")]
    Host {
        /// Path or name.
        origin: String,
        /// One line.
        problem: String,
    },
}

/// A call of a plugin failed. It is that call's failure, never the audit's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The plugin broke a limit.
    #[error("plugin `{plugin}` broke the limit `{limit}` ({allowed})")]
    Limit {
        /// Name of the plugin.
        plugin: String,
        /// Which.
        limit: LimitName,
        /// What was allowed, with its unit.
        allowed: String,
    },
    /// The plugin's code trapped: a panic, an access outside its memory, a stack that ran out.
    #[error("plugin `{plugin}` trapped: {message}")]
    Trap {
        /// Name of the plugin.
        plugin: String,
        /// One line. What a panic says is in the logs of the call.
        message: String,
    },
    /// The plugin answered with an error.
    #[error("plugin `{plugin}`: {error}")]
    Plugin {
        /// Name of the plugin.
        plugin: String,
        /// Its answer.
        #[source]
        error: PluginError,
    },
    /// No instance could be made.
    #[error("plugin `{plugin}` cannot be instantiated: {message}")]
    Instantiate {
        /// Name of the plugin.
        plugin: String,
        /// One line.
        message: String,
    },
    /// The plugin is of another kind than the call.
    #[error("plugin `{plugin}` is of the kind {found}, not {wanted}")]
    WrongKind {
        /// Name of the plugin.
        plugin: String,
        /// Its kind.
        found: &'static str,
        /// The kind that was needed.
        wanted: &'static str,
    },
    /// The launch has concluded, failed or was given up, and takes no further event.
    #[error("launch of plugin `{plugin}` is over: {reason}")]
    Over {
        /// Name of the plugin.
        plugin: String,
        /// Why.
        reason: String,
    },
}

impl CallError {
    /// The limit that was broken, if one was.
    pub fn limit(&self) -> Option<LimitName> {
        match self {
            CallError::Limit { limit, .. } => Some(*limit),
            _ => None,
        }
    }

    pub(crate) fn wrong_kind(plugin: &str, found: PluginKind, wanted: PluginKind) -> Self {
        CallError::WrongKind { plugin: plugin.to_owned(), found: found.as_str(), wanted: wanted.as_str() }
    }
}

/// The engine's error with its causes in one line of bounded length.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    const LONGEST: usize = 400;
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if parts.last() != Some(&text) {
            parts.push(text);
        }
    }
    let mut line = parts.join(": ");
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

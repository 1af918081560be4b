//! The only place that starts programs. A launched program is resolved outside the audited repository, started with a
//! clean environment, contained so that nothing of it outlives its launch, and its output is kept within bounds.
//!
//! Unix only. On Linux every descendant is found, wherever it went; on other systems the program's process group is.

pub mod resolve;

pub mod environment;
pub mod place;
pub mod secrets;

pub mod ask;
pub mod cancel;
pub mod program;

mod cgroup;
pub mod contain;
mod control;
mod tree;

pub mod output;
pub mod redact;
pub mod snapshot;
pub mod workplace;

pub use ask::{AskError, ask_program};
pub use cancel::{Cancel, CancelSource, Urgency, cancellation};
pub use contain::{CONTAIN_SUBCOMMAND, contain_main};
pub use environment::{EnvironmentError, LaunchHome, clear_home, launch_environment};
pub use place::{GatewayPlace, PlaceError, Places, place_files, resolve_pieces};
pub use program::{ProgramSpec, SpawnError, run_program};
pub use redact::Redactor;
pub use resolve::{ResolveError, ResolvedProgram, resolve_program};
pub use secrets::{SecretError, Secrets};
pub use snapshot::{Change, ChangeKind, Checkout};
pub use workplace::{Snapshot, SnapshotError};

//! Where settings come from: flags, the user's configuration, the repository's wishes, the environment.
//! Every file and variable that is read is documented here and nowhere else.
//!
//! | source | place | may |
//! |---|---|---|
//! | user | `$XDG_CONFIG_HOME/assize/config.toml`, else `~/.config/assize/config.toml` | everything, grants included |
//! | repository | `assize.toml` at its root | narrow the work; ask for a provider's configuration, which the user must approve |
//! | command line | flags | everything, for this run |
//!
//! | variable | meaning |
//! |---|---|
//! | `PATH` | where programs are looked for |
//! | `HOME`, `XDG_CONFIG_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME` | where configuration is, where compiled components and the user's key are kept |
//! | `NO_COLOR` | no colour, whatever its value, unless it is empty |
//! | `CI` | plain progress lines even on a terminal |
//! | `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case | how requests reach the network |
//! | `SSL_CERT_FILE`, `SSL_CERT_DIR` | where the system's certificates are, instead of where they usually are |
//! | `TZ` | zone in which programs tell times of day |
//! | variables such as `ANTHROPIC_BASE_URL` | address of a service, where the provider of it says that it follows them |
//! | those named by a `secret` grant | passed on to a granted program, never shown |

mod environment;
mod files;
mod lanes;
mod settings;

pub use environment::Environment;
pub use files::{ConfigError, NetworkTable, RepositoryFile, UserFile};
pub use lanes::{LaneTable, LimitTable, PriceTable, SecretTable};
pub use settings::{Deadline, Origin, PlaceFlags, ProviderWish, RunFlags, Section, Settings};

//! How the program reaches the service, and what is tried when one way is closed.

use assize_plugin_sdk::Failure;

use crate::config::{Config, Login};

/// One way to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the gateway, which puts the key in: the program never has it.
    Gateway,
    /// Without a gateway, with the key in a variable of the program.
    Key,
    /// With the login that the user's home holds, at the service that the login belongs to.
    User,
}

impl Access {
    /// The way that is tried first. A login of the user's is bound to its own service and transport, so no gateway stands
    /// between them.
    pub fn first(config: &Config) -> Self {
        match (config.login, config.gateway) {
            (Login::User, _) => Self::User,
            (Login::Key, true) => Self::Gateway,
            (Login::Key, false) => Self::Key,
        }
    }

    /// The way that is tried after the host could not go this one; none when the failure is about something else.
    pub fn after(self, failure: &Failure) -> Option<Self> {
        (self == Self::Gateway && failure.kind == "unsupported").then_some(Self::Key)
    }
}

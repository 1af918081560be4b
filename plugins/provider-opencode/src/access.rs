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
    /// With the providers and logins that the user's home holds.
    User,
}

impl Access {
    /// The way that is tried first. The user's own providers name their own addresses, so no gateway stands before them.
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

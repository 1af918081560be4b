//! How the program reaches the service, and what is tried when one way is closed.

use assize_plugin_sdk::{Failure, extra_value};

use crate::config::{Config, Login};

/// One way to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the gateway, which puts the key in: the program never has it.
    GatewayKey,
    /// Through the gateway, with a credential of the program's own.
    GatewayOwn,
    /// Without a gateway.
    Direct,
}

impl Access {
    /// The way that is tried first.
    pub fn first(config: &Config) -> Self {
        match (config.gateway, config.login) {
            (false, _) => Self::Direct,
            (true, Login::Key) => Self::GatewayKey,
            (true, Login::User) => Self::GatewayOwn,
        }
    }

    /// The way that is tried after the host could not go this one; none when the failure is about something else.
    pub fn after(self, failure: &Failure) -> Option<Self> {
        let no_key = failure.kind == "not-found" && extra_value(&failure.extra, "missing") == Some("secret");
        match self {
            // A subscription's token is no API key, so the gateway cannot put it in and the program brings it.
            Self::GatewayKey if no_key => Some(Self::GatewayOwn),
            Self::GatewayKey | Self::GatewayOwn if failure.kind == "unsupported" => Some(Self::Direct),
            _ => None,
        }
    }
}

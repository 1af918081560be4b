//! A [`Launch`] behind the generated traits.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::bindings::assize::plugin::types as wire_types;
use super::bindings::exports::assize::plugin::{plugin, provider as wire};
use crate::launch::Launch;

/// The component whose launches are `L`.
pub struct Port<L>(PhantomData<L>);

/// One launch of a component. The host calls one function at a time, so the cell is never borrowed twice.
pub struct Running<L>(RefCell<L>);

impl<L: Launch> plugin::Guest for Port<L> {
    fn describe() -> wire_types::Description {
        L::describe().into()
    }
}

impl<L: Launch> wire::Guest for Port<L> {
    type Launch = Running<L>;
}

impl<L: Launch> wire::GuestLaunch for Running<L> {
    fn start(request: wire::LaunchRequest) -> Result<wire::Launch, wire_types::PluginError> {
        let launch = L::start(request.into()).map_err(wire_types::PluginError::from)?;
        Ok(wire::Launch::new(Running(RefCell::new(launch))))
    }

    fn next(&self, event: Option<wire::Event>) -> Result<wire::Step, wire_types::PluginError> {
        let step = self.0.borrow_mut().next(event.map(Into::into)).map_err(wire_types::PluginError::from)?;
        Ok(step.into())
    }
}

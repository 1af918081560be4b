//! The component side: generated bindings, conversions to and from the plain data, and the export.

#[doc(hidden)]
pub mod bindings;
mod from_host;
mod port;
mod to_host;

pub use port::Port;

/// Makes a [`Launch`](crate::Launch) the interface that the component exports. Stands once in a plugin, in a module
/// that allows `unsafe_code`, because the exported functions are the raw edge of the component.
#[macro_export]
macro_rules! export_provider {
    ($launch:ty) => {
        type Component = $crate::component::Port<$launch>;
        $crate::component::bindings::export_provider_world!(Component with_types_in $crate::component::bindings);
    };
}

//! The component side: generated bindings, conversions without thought, and the export.

#[doc(hidden)]
pub mod bindings;
mod port;

pub use port::Port;

/// Makes a [`LimitReader`](crate::LimitReader) the interface that the component exports. Stands once in a plugin, in a
/// module that allows `unsafe_code`, because the exported functions are the raw edge of the component.
#[macro_export]
macro_rules! export_rate_limits {
    ($reader:ty) => {
        type Component = $crate::component::Port<$reader>;
        $crate::component::bindings::export_rate_limit_world!(Component with_types_in $crate::component::bindings);
    };
}

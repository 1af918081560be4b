//! Laws of the crate, over loopback.

mod addresses;
mod answers;
mod gateway_access;
mod gateway_echo;
mod gateway_end;
mod gateway_stream;
mod http2;
mod program;
mod tls;
mod upstream;

//! The engine: how components are compiled, what they may link against, and the thread that advances their deadlines.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Engine, Result};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2;
use wasmtime_wasi::random::WasiRandom;

use crate::bindings::log;
use crate::error::{SandboxError, one_line};
use crate::guest::Guest;

/// How often a running guest is looked at. A deadline is late by at most this.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// An engine whose results depend on nothing but its input. `memory_reservation` is address space for each linear
/// memory, for machines that cap it.
///
/// # Errors
///
/// The engine's own, when the machine lacks what it needs.
pub(crate) fn open_engine(memory_reservation: Option<u64>) -> std::result::Result<Engine, SandboxError> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None)
        // Facts are cached by content for ever, so that the same bytes must give the same facts on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    if let Some(bytes) = memory_reservation {
        config.memory_reservation(bytes).memory_reservation_for_growth(bytes).memory_guard_size(64 << 10);
    }
    Engine::new(&config).map_err(|error| SandboxError::Engine { message: one_line(&error) })
}

/// Everything that any plugin may import, and nothing else; admission has refused other imports by name before.
///
/// # Errors
///
/// Only a name that is defined twice, which would be a fault of this function.
pub(crate) fn open_linker(engine: &Engine) -> Result<Linker<Guest>> {
    use p2::bindings::{cli, filesystem, random};
    type G = Guest;

    let mut linker = Linker::new(engine);
    let l = &mut linker;
    log::add_to_linker::<G, HasSelf<G>>(l, |guest| guest)?;
    // `wasi:io`, the clocks, `wasi:random/random` and the standard streams.
    p2::add_to_linker_proxy_interfaces_async(l)?;
    random::insecure::add_to_linker::<G, WasiRandom>(l, |guest| guest.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<G, WasiRandom>(l, |guest| guest.ctx().ctx.random())?;
    cli::exit::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::environment::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::terminal_input::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::terminal_output::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::terminal_stdin::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::terminal_stdout::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    cli::terminal_stderr::add_to_linker::<G, WasiCli>(l, WasiCliView::cli)?;
    filesystem::preopens::add_to_linker::<G, WasiFilesystem>(l, WasiFilesystemView::filesystem)?;
    filesystem::types::add_to_linker::<G, WasiFilesystem>(l, WasiFilesystemView::filesystem)?;
    Ok(linker)
}

/// The thread that advances the engine's epoch; ends when it is dropped.
pub(crate) struct Ticker {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// # Errors
    ///
    /// When the system has no thread left.
    pub(crate) fn start(engine: &Engine) -> std::result::Result<Self, SandboxError> {
        let engine = engine.clone();
        let (stop, stopped) = mpsc::channel::<()>();
        let tick = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        let thread =
            thread::Builder::new().name("assize-deadlines".to_owned()).spawn(tick).map_err(SandboxError::Ticker)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, and there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

//! The WASI that a language's standard library asks for, without a world behind it: no arguments, no environment, no
//! preopened directory, closed input, clocks that stand still, and randomness that is a function of the call's seed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx};

use crate::logs::{LogBuffer, Stream};

/// Bytes of randomness before it repeats. Guests seed hash tables with a few dozen.
const RANDOM_PERIOD: usize = 4096;

/// Bytes that one request for random bytes may ask for; each is made on the host.
const LARGEST_RANDOM: u64 = 1 << 20;

/// The context of one store. `now_ms` counts from the Unix epoch.
pub(crate) fn wasi(now_ms: u64, seed: &[u8; 32], logs: &LogBuffer) -> WasiCtx {
    let mut random = vec![0; RANDOM_PERIOD];
    blake3::Hasher::new_keyed(seed).finalize_xof().fill(&mut random);
    let mut seeds = [0; 16];
    seeds.copy_from_slice(&random[..16]);
    let mut insecure = random.clone();
    insecure.rotate_left(16);
    WasiCtx::builder()
        .stdout(Output { logs: logs.clone(), stream: Stream::Stdout })
        .stderr(Output { logs: logs.clone(), stream: Stream::Stderr })
        .wall_clock(StillClock { now: Duration::from_millis(now_ms) })
        .monotonic_clock(StillClock { now: Duration::from_millis(now_ms) })
        .secure_random(Deterministic::new(random))
        .insecure_random(Deterministic::new(insecure))
        .insecure_random_seed(u128::from_le_bytes(seeds))
        .max_random_size(LARGEST_RANDOM)
        .build()
}

/// Shows one moment for ever.
struct StillClock {
    now: Duration,
}

impl HostWallClock for StillClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.now
    }
}

impl HostMonotonicClock for StillClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.now.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A standard stream that ends in the log buffer. It never fails and never waits.
struct Output {
    logs: LogBuffer,
    stream: Stream,
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Output { logs: self.logs.clone(), stream: self.stream })
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.logs.output(self.stream, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

//! Ctrl-C and SIGTERM: once means no new launches and ten seconds for those that run, twice means now, and a third time
//! ends the program wherever it is; the containers of its launches end with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A message for each interrupt. Where signals cannot be listened to, none comes and the system's own behaviour stays.
pub fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let seen = Arc::new(AtomicU32::new(0));
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let Ok(mut stream) = signal(kind) else { continue };
        let (sender, seen) = (sender.clone(), seen.clone());
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                if seen.fetch_add(1, Ordering::Relaxed) >= 2 {
                    std::process::exit(130);
                }
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

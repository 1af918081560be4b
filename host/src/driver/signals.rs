//! Ctrl-C and SIGTERM: once means no new launches and ten seconds for those that run, twice means now.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A message for each interrupt. Where signals cannot be listened to, none comes and the system's own behaviour stays.
pub fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let Ok(mut stream) = signal(kind) else { continue };
        let sender = sender.clone();
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

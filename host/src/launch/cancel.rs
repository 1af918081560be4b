//! How a launch is told to end before it ends by itself.

use tokio::sync::watch;

/// How much time a launch is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It may go on.
    #[default]
    None,
    /// It is asked to end, and killed after its grace.
    Soft,
    /// It is killed at once.
    Hard,
}

/// The end that decides. Dropping it cancels nothing.
#[derive(Clone, Debug)]
pub struct CancelSource(watch::Sender<Urgency>);

impl CancelSource {
    /// Asks every launch that holds a [`Cancel`] of this source to end. Urgency only rises: a softer word after a
    /// harder one changes nothing.
    pub fn raise(&self, urgency: Urgency) {
        self.0.send_if_modified(|current| {
            let rises = urgency > *current;
            if rises {
                *current = urgency;
            }
            rises
        });
    }

    /// Another receiving end.
    pub fn subscribe(&self) -> Cancel {
        Cancel(Some(self.0.subscribe()))
    }
}

/// The end that a launch listens to.
#[derive(Clone, Debug)]
pub struct Cancel(Option<watch::Receiver<Urgency>>);

impl Cancel {
    /// Never cancels.
    pub fn never() -> Self {
        Self(None)
    }

    /// Waits until the urgency is at least this. Pending for ever when that cannot happen any more.
    pub async fn reached(&self, urgency: Urgency) {
        let Some(mut receiver) = self.0.clone() else { return std::future::pending().await };
        if receiver.wait_for(|current| *current >= urgency).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A source and its first receiving end.
pub fn cancellation() -> (CancelSource, Cancel) {
    let (sender, receiver) = watch::channel(Urgency::None);
    (CancelSource(sender), Cancel(Some(receiver)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn urgency_only_rises() {
        let (source, cancel) = cancellation();
        source.raise(Urgency::Hard);
        source.raise(Urgency::Soft);
        cancel.reached(Urgency::Hard).await;
        assert_eq!(*source.0.borrow(), Urgency::Hard);
    }

    #[tokio::test]
    async fn a_dropped_source_cancels_nothing() {
        let (source, cancel) = cancellation();
        drop(source);
        tokio::select! {
            biased;
            () = cancel.reached(Urgency::Soft) => panic!("cancelled by nobody"),
            () = tokio::task::yield_now() => {}
        }
    }
}

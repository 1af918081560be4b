//! The body of an answer on its way to the program, part by part.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use thiserror::Error;
use tokio::time::{Instant, Sleep};

use super::watch::Watch;
use crate::decode::Decoder;
use crate::mask::MaskStream;

/// Ends the program's stream as the upstream's ended: not at all.
#[derive(Debug, Error)]
#[error("the answer broke: {0}")]
pub(super) struct Broken(&'static str);

/// How bytes are read, and whether they are passed on as they are read.
pub(super) struct Reading {
    /// Absent when the encoding cannot be undone; then nothing is counted.
    pub decoder: Option<Decoder>,
    /// Whether the program gets the decompressed bytes, since a secret cannot be hidden in compressed ones.
    pub rewrite: bool,
    pub mask: MaskStream,
}

/// Passes parts on as they come. The one thing it alters is the host's own secret, in bytes and not in lengths.
pub(super) struct Relay {
    body: reqwest::Body,
    reading: Reading,
    /// Bytes that the head promised.
    expected: Option<u64>,
    watch: Watch,
    ready: VecDeque<Frame<Bytes>>,
    ended: bool,
    idle: Duration,
    pause: Pin<Box<Sleep>>,
    /// Whether the upstream, not the program, is what is waited for.
    waiting: bool,
}

impl Relay {
    /// `empty` says that no body will follow, whatever the head promised.
    pub fn new(
        body: reqwest::Body,
        expected: Option<u64>,
        empty: bool,
        reading: Reading,
        watch: Watch,
        idle: Duration,
    ) -> Self {
        let mut relay = Self {
            ended: false,
            body,
            reading,
            expected,
            watch,
            ready: VecDeque::new(),
            idle,
            pause: Box::pin(tokio::time::sleep(idle)),
            waiting: false,
        };
        if empty || relay.body.is_end_stream() {
            relay.watch.done();
            relay.ended = true;
        }
        relay
    }

    fn poll_upstream(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                self.waiting = false;
                Poll::Ready(frame.map(|frame| frame.map_err(|_| Broken("the connection to the upstream broke"))))
            }
            Poll::Pending => {
                if !self.waiting {
                    self.waiting = true;
                    self.pause.as_mut().reset(Instant::now() + self.idle);
                }
                self.pause.as_mut().poll(cx).map(|()| Some(Err(Broken("the upstream sent nothing for too long"))))
            }
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) -> Result<(), Broken> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(trailers) => {
                // Nothing follows them, and nobody asks for more.
                self.finish()?;
                self.ready.push_back(trailers);
                return Ok(());
            }
        };
        self.watch.took(&data);
        self.pass(data)?;
        if self.expected == Some(self.watch.response_bytes()) || self.body.is_end_stream() {
            self.finish()?;
        }
        Ok(())
    }

    fn pass(&mut self, data: Bytes) -> Result<(), Broken> {
        let Reading { decoder, rewrite, mask } = &mut self.reading;
        if mask.is_idle() {
            if let Some(decoder) = decoder {
                let watch = &mut self.watch;
                // What cannot be read is passed on all the same: it is the program's to judge.
                if decoder.push(&data, &mut |plain| watch.read(plain)).is_err() {
                    self.reading.decoder = None;
                }
            }
            self.ready.push_back(Frame::data(data));
            return Ok(());
        }
        let clean = match decoder {
            Some(decoder) if *rewrite => {
                let mut clean = Vec::new();
                decoder.push(&data, &mut |plain| clean.extend(mask.push(plain))).map_err(|_| CODING)?;
                clean
            }
            _ => mask.push(&data),
        };
        self.emit(clean);
        Ok(())
    }

    fn emit(&mut self, clean: Vec<u8>) {
        if !clean.is_empty() {
            self.watch.read(&clean);
            self.ready.push_back(Frame::data(clean.into()));
        }
    }

    /// What was held back.
    fn flush(&mut self) -> Result<(), Broken> {
        let Reading { decoder, rewrite, mask } = &mut self.reading;
        let mut clean = Vec::new();
        if let Some(decoder) = decoder
            && *rewrite
        {
            decoder.finish(&mut |plain| clean.extend(mask.push(plain))).map_err(|_| CODING)?;
        }
        clean.extend(mask.finish());
        self.emit(clean);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Broken> {
        self.flush()?;
        self.watch.done();
        self.ended = true;
        Ok(())
    }
}

const CODING: Broken = Broken("the upstream's compression is broken");

impl Body for Relay {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = self.get_mut();
        loop {
            if let Some(frame) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if this.ended {
                return Poll::Ready(None);
            }
            let step = match this.poll_upstream(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => this.take(frame),
                Poll::Ready(Some(Err(broken))) => Err(broken),
                Poll::Ready(None) => this.finish(),
            };
            if let Err(broken) = step {
                this.watch.fail(broken.0);
                this.ended = true;
                return Poll::Ready(Some(Err(broken)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.ready.is_empty()
    }
}

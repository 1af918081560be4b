//! The server: a listener on the loopback interface, a thread for each connection, and what all of them share.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::connection::serve;
use crate::journal::{Entry, Journal};
use crate::limits::{Bucket, Window};
use crate::scenario::{Kind, Scenario};

/// Connections at once; more are told so and closed.
const CONNECTIONS: usize = 256;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(300);

/// A running server. It ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub struct LoopbackApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the connections share.
#[derive(Debug)]
pub struct Shared {
    started: Instant,
    ended: AtomicBool,
    state: Mutex<State>,
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

#[derive(Debug, Default)]
struct State {
    requests: u64,
    /// Generation requests by scenario and tag.
    counts: HashMap<String, u64>,
    /// Buckets by scenario, tag and credential.
    buckets: HashMap<(String, String), Bucket>,
    journal: Journal,
}

impl LoopbackApi {
    /// Starts a server; port 0 takes a free one.
    ///
    /// # Errors
    /// Those of binding the port.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            started: Instant::now(),
            ended: AtomicBool::new(false),
            state: Mutex::default(),
            open: Mutex::default(),
        });
        let accepting = shared.clone();
        let acceptor =
            std::thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &accepting))?;
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    /// Address of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Base address under which the server plays a scenario.
    pub fn scenario(&self, name: &str) -> String {
        format!("http://{}/-/{name}", self.address)
    }

    /// What was asked, oldest first.
    pub fn requests(&self) -> Vec<Entry> {
        self.shared.state().journal.entries()
    }
}

impl Drop for LoopbackApi {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // The acceptor looks at the flag when somebody comes.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for stream in lock(&self.shared.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0u64..).zip(listener.incoming()) {
        if shared.ended.load(Ordering::SeqCst) {
            return;
        }
        // A client that is gone before it was taken is nobody's fault.
        let Ok(stream) = stream else { continue };
        let _ = admit(number, stream, shared);
    }
}

fn admit(number: u64, mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    {
        let mut open = lock(&shared.open);
        if open.len() >= CONNECTIONS {
            return stream
                .write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
        open.insert(number, stream.try_clone()?);
    }
    let place = Place { number, shared: shared.clone() };
    std::thread::Builder::new().name("connection".to_owned()).spawn(move || {
        // A client that breaks off or talks nonsense ends its own connection only.
        let _ = serve(stream, &place.shared);
    })?;
    Ok(())
}

/// The place of a connection among those that are open; it is free again when this is dropped.
struct Place {
    number: u64,
    shared: Arc<Shared>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(stream) = lock(&self.shared.open).remove(&self.number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Milliseconds since the start.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Number of a new request.
    pub fn next_number(&self) -> u64 {
        let mut state = self.state();
        state.requests += 1;
        state.requests
    }

    /// Counts a generation request, and gives how many came before it and the window that it meets.
    pub fn meet(&self, scenario: Scenario, name: &str, credential: &str) -> (u64, Window) {
        let now_ms = self.elapsed_ms();
        let mut state = self.state();
        let count = state.counts.entry(name.to_owned()).or_default();
        *count += 1;
        let earlier = *count - 1;
        let window = match scenario.kind {
            Kind::Bucket { limit, seconds } => {
                let key = (name.to_owned(), credential.to_owned());
                let bucket = state.buckets.entry(key).or_insert_with(|| Bucket::full(limit, now_ms));
                bucket.take(limit, seconds, now_ms)
            }
            _ => Window::EASY,
        };
        (earlier, window)
    }

    /// Notes a request.
    pub fn note(&self, entry: Entry) {
        self.state().journal.add(entry);
    }

    /// All requests as JSON.
    pub fn journal(&self) -> serde_json::Value {
        self.state().journal.render()
    }
}

/// A thread that panicked has at worst left a count too low; the others go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

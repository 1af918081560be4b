//! The server: a listener on the loopback interface and a thread for each connection.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::connection::serve;
use crate::journal::Entry;
use crate::scenario::Scenario;
use crate::shared::{Shared, lock};

/// Connections at once; more are told so and closed.
const CONNECTIONS: usize = 256;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(300);

/// A running server. It ends, with all its connections, when this is dropped.
#[derive(Debug)]
pub struct LoopbackApi {
    address: SocketAddr,
    /// Where clients come out who follow a redirection.
    elsewhere: SocketAddr,
    shared: Arc<Shared>,
    open: Arc<Open>,
    acceptors: Vec<JoinHandle<()>>,
}

/// Connections that are open.
#[derive(Debug, Default)]
struct Open {
    streams: Mutex<BTreeMap<u64, TcpStream>>,
    next: Mutex<u64>,
}

impl LoopbackApi {
    /// Starts a server; port 0 takes a free one.
    ///
    /// # Errors
    /// Those of binding the port.
    pub fn start(port: u16) -> io::Result<Self> {
        Self::launch(port, Scenario::default())
    }

    /// Starts a server that plays a scenario wherever the address names none.
    ///
    /// # Errors
    /// `InvalidInput` for a scenario that does not exist, and those of binding the port.
    pub fn playing(scenario: &str, port: u16) -> io::Result<Self> {
        let scenario = Scenario::parse(scenario).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("no scenario is called `{scenario}`"))
        })?;
        Self::launch(port, scenario)
    }

    fn launch(port: u16, scenario: Scenario) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let second = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, elsewhere) = (listener.local_addr()?, second.local_addr()?);
        let shared = Arc::new(Shared::new(scenario, format!("http://{elsewhere}")));
        let mut api = Self { address, elsewhere, shared, open: Arc::default(), acceptors: Vec::new() };
        for listener in [listener, second] {
            let (shared, open) = (api.shared.clone(), api.open.clone());
            let thread = std::thread::Builder::new().name("accept".to_owned());
            api.acceptors.push(thread.spawn(move || accept(&listener, &shared, &open))?);
        }
        Ok(api)
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
        self.shared.entries()
    }

    /// How many requests were replied to with a status.
    pub fn answered(&self, status: u16) -> usize {
        self.shared.answered(status)
    }

    /// What the journal writes for a credential.
    pub fn digest(&self, credential: &str) -> String {
        self.shared.digest(credential)
    }

    /// Milliseconds since the start, as the journal counts them.
    pub fn elapsed_ms(&self) -> u64 {
        self.shared.elapsed_ms()
    }
}

impl Drop for LoopbackApi {
    fn drop(&mut self) {
        self.shared.finish();
        // The acceptors look whether it has ended when somebody comes.
        for address in [self.address, self.elsewhere] {
            let _ = TcpStream::connect(address);
        }
        for acceptor in self.acceptors.drain(..) {
            let _ = acceptor.join();
        }
        for stream in lock(&self.open.streams).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, open: &Arc<Open>) {
    for stream in listener.incoming() {
        if shared.has_ended() {
            return;
        }
        // A client that is gone before it was taken is nobody's fault.
        let Ok(stream) = stream else { continue };
        let _ = admit(stream, shared, open);
    }
}

fn admit(mut stream: TcpStream, shared: &Arc<Shared>, open: &Arc<Open>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let Some(place) = take_place(&stream, open)? else {
        return stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    };
    let shared = shared.clone();
    std::thread::Builder::new().name("connection".to_owned()).spawn(move || {
        let _place = place;
        // A client that breaks off or talks nonsense ends its own connection only.
        let _ = serve(stream, &shared);
    })?;
    Ok(())
}

fn take_place(stream: &TcpStream, open: &Arc<Open>) -> io::Result<Option<Place>> {
    let mut streams = lock(&open.streams);
    if streams.len() >= CONNECTIONS {
        return Ok(None);
    }
    let mut next = lock(&open.next);
    *next += 1;
    streams.insert(*next, stream.try_clone()?);
    Ok(Some(Place { number: *next, open: open.clone() }))
}

/// The place of a connection among those that are open; it is free again when this is dropped.
struct Place {
    number: u64,
    open: Arc<Open>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(stream) = lock(&self.open.streams).remove(&self.number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests;

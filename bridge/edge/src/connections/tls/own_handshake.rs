//! A handshake of a server with itself, in memory: what servers that are clients of one another would
//! refuse is found before one of them does.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, Error, ServerConfig, ServerConnection,
};

/// Completes the handshake.
///
/// # Errors
///
/// Why one side refuses the certificate of the other.
pub(super) fn complete(
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    name: &str,
) -> Result<(), Error> {
    let name =
        ServerName::try_from(name.to_owned()).map_err(|error| Error::General(error.to_string()))?;
    let mut client = ClientConnection::new(client, name)?;
    let mut server = ServerConnection::new(server)?;
    while client.is_handshaking() || server.is_handshaking() {
        pass(&mut client, &mut server)?;
        pass(&mut server, &mut client)?;
    }
    Ok(())
}

/// Passes what one side has written to the other.
fn pass<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) -> Result<(), Error> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes)
            .map_err(|error| Error::General(error.to_string()))?;
    }
    let mut unread = &bytes[..];
    while !unread.is_empty() {
        to.read_tls(&mut unread)
            .map_err(|error| Error::General(error.to_string()))?;
        to.process_new_packets()?;
    }
    Ok(())
}

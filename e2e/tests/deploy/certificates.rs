//! A certificate authority, and the certificate of the proxy in the files that the proxies read.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;

use crate::deployment::{HOST, PROVIDER_HOST};

/// The authority that signed the certificate of the proxy.
pub(crate) struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    /// Writes `ca.pem`, and the certificate of both hosts in the files that the proxies read.
    pub(crate) fn write_into(folder: &Path) -> Self {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = CertifiedIssuer::self_signed(params, key).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([HOST, PROVIDER_HOST].map(str::to_owned)).unwrap();
        let certificate = certificate.signed_by(&key, &authority).unwrap().pem();
        let key = key.serialize_pem();
        for (name, text) in [
            ("ca.pem", authority.pem()),
            ("bridge.pem", format!("{certificate}{key}")),
            ("id.crt", certificate.clone()),
            ("id.key", key.clone()),
            ("tls.crt", certificate),
            ("tls.key", key),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        Self { authority }
    }

    /// Returns the store of a client that trusts the authority.
    pub(crate) fn root_store(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add(self.authority.der().clone()).unwrap();
        store
    }
}

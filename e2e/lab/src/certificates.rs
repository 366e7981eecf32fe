//! The certificate of the nodes of a cluster, and the authority that has signed it.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

/// The name that a bridge expects in the certificates of the others by default.
const NODE_NAME: &str = "mcp-web";

/// Files in PEM, which are removed when this is dropped.
pub(crate) struct Certificates(TempDir);

impl Certificates {
    pub(crate) fn create() -> Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let node = CertificateParams::new([NODE_NAME.to_owned()])?;
        let certificate = node.signed_by(&key, &authority)?;
        let files = Self(tempfile::tempdir()?);
        fs::write(files.path("authority"), authority.pem())?;
        fs::write(files.path("certificate"), certificate.pem())?;
        fs::write(files.path("key"), key.serialize_pem())?;
        Ok(files)
    }

    /// Returns the settings of a bridge with these files.
    pub(crate) fn settings(&self) -> [String; 3] {
        [
            ("--cluster-tls-cert", "certificate"),
            ("--cluster-tls-key", "key"),
            ("--cluster-tls-ca", "authority"),
        ]
        .map(|(setting, name)| format!("{setting}={}", self.path(name).display()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

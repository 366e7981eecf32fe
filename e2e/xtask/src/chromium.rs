//! Chromium and its WebDriver server, which only tests use.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::apt;
use crate::step::{Outcome, step};

/// The paths of Chromium and of chromedriver.
pub(crate) struct Chromium {
    pub(crate) browser: PathBuf,
    pub(crate) driver: PathBuf,
}

impl Chromium {
    /// Finds Chromium and its driver, and installs Debian's packages if they are missing.
    ///
    /// `MCP_WEB_CHROMIUM` and `MCP_WEB_CHROMEDRIVER` name programs other than Debian's.
    pub(crate) fn ensure() -> Result<Self> {
        step("Chromium and its driver", || {
            let chromium = Self {
                browser: from_environment("MCP_WEB_CHROMIUM", "/usr/bin/chromium"),
                driver: from_environment("MCP_WEB_CHROMEDRIVER", "/usr/bin/chromedriver"),
            };
            if chromium.is_installed() {
                return Ok(Outcome::UpToDate(chromium));
            }
            if apt::is_available() {
                apt::install(&["chromium", "chromium-driver"])?;
            }
            if chromium.is_installed() {
                return Ok(Outcome::Done(chromium));
            }
            bail!(
                "install Chromium and chromedriver, and set MCP_WEB_CHROMIUM and MCP_WEB_CHROMEDRIVER to their paths"
            )
        })
    }

    fn is_installed(&self) -> bool {
        self.browser.exists() && self.driver.exists()
    }
}

fn from_environment(name: &str, default: &str) -> PathBuf {
    env::var_os(name).unwrap_or_else(|| default.into()).into()
}

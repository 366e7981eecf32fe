//! The files of the page, embedded in the binary.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// One file of the page.
pub(crate) struct Asset {
    /// The file's name, which is unique.
    pub(crate) name: &'static str,
    /// The value of the header `Content-Type`.
    pub(crate) content_type: &'static str,
    /// The content of the file.
    pub(crate) body: &'static str,
    /// The strong entity tag, with its quotes.
    pub(crate) etag: String,
}

/// The document of the board, at `/`.
pub(crate) static INDEX: LazyLock<Asset> =
    LazyLock::new(|| new_asset("index.html", include_str!("../page/index.html")));

/// The document of the order form, at `/demo/order`.
pub(crate) static ORDER: LazyLock<Asset> =
    LazyLock::new(|| new_asset("order.html", include_str!("../page/order.html")));

/// The files that are served at `/demo/`.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    // From the SDK, without its types.
    let invisible = include_str!("../../web-sdk/js/text/invisible.ts");
    FILES
        .iter()
        .chain(&[("invisible.js", invisible)])
        .map(|(name, body)| new_asset(name, body))
        .collect()
});

/// Finds the file with this name.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

macro_rules! files {
    ($($folder:literal { $($name:literal)* })*) => {
        const FILES: &[(&str, &str)] = &[
            $($(($name, include_str!(concat!("../page/", $folder, $name))),)*)*
        ];
    };
}

files! {
    "" { "icon.svg" "overview.html" }
    "css/" { "ask.css" "base.css" "board.css" "order.css" "panel.css" }
    "js/" {
        "ask-agent.js" "ask-box.js" "ask-failures.js" "ask-questions.js"
        "batch-tools.js" "board-view.js" "board.js" "call-log.js" "card-dragging.js"
        "card-editor.js" "card-keys.js" "card-view.js" "client-config.js" "dates.js" "day-plan.js"
        "described.js"
        "dom.js" "hints.js" "json-view.js" "main.js" "motion.js" "notices.js" "offers.js"
        "order-form.js" "order-page.js" "order.js"
        "overview.js" "panel-calls.js" "panel-connect.js" "panel-connection.js" "panel-offers.js"
        "picture.js" "plan-tool.js" "prompts.js" "resources.js" "result-view.js" "schemas.js" "seed.js" "store.js" "tabs.js"
        "theme-switch.js" "theme.js" "tools.js" "touched.js"
    }
}

fn new_asset(name: &'static str, body: &'static str) -> Asset {
    Asset {
        name,
        content_type: content_type(name),
        body,
        etag: etag(body),
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

fn etag(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let prefix: String = digest[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{prefix}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        for folder in ["css", "js"] {
            for entry in std::fs::read_dir(format!("{page}/{folder}")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(find(&name).is_some(), "{name} is missing in `files!`");
            }
        }
    }

    #[test]
    fn every_file_that_the_page_references_is_embedded() {
        let loaded = [INDEX.body, ORDER.body]
            .into_iter()
            .flat_map(|body| body.split('"'))
            .filter_map(|part| part.strip_prefix("/demo/"))
            .filter(|name| name.contains('.'));
        let imported = ASSETS
            .iter()
            .flat_map(|asset| asset.body.lines())
            .filter_map(|line| line.split_once(" from \"./")?.1.strip_suffix("\";"));
        let mut references = 0;
        for name in loaded.chain(imported) {
            assert!(find(name).is_some(), "there is no {name}");
            references += 1;
        }
        assert!(references > 20, "only {references} references");
    }
}

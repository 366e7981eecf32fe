//! Loads the credentials of bridges again when their files change, so that neither bridge nor agent must be
//! restarted for another credential.

use std::sync::Arc;

use bridge_edge::FileWatch;
use tokio::task::spawn_blocking;

use super::bridges::Bridges;

/// Watches the files until the future is dropped. Without files it ends at once.
pub(crate) async fn watch_credentials(bridges: Arc<Bridges>) {
    let paths = bridges.credential_files();
    if paths.is_empty() {
        return;
    }
    let mut files = FileWatch::start(paths);
    // At first because a file may have changed after it was loaded and before it was watched.
    let mut has_changed = false;
    loop {
        let reloading = Arc::clone(&bridges);
        match spawn_blocking(move || reloading.reload()).await {
            Ok(Ok(())) if !has_changed => {}
            Ok(Ok(())) => tracing::info!("the credentials of bridges have changed"),
            Ok(Err(error)) => tracing::warn!("the former credentials stay valid: {error}"),
            Err(_) => return,
        }
        files.changed().await;
        has_changed = true;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::task::AbortOnDropHandle;

    use super::super::bridges::tests::{credential, has, with_files};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_changes_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let bridges = Arc::new(with_files(folder.path(), &["a", "b"]));
        let watching = tokio::spawn(watch_credentials(Arc::clone(&bridges)));
        let _watching = AbortOnDropHandle::new(watching);
        let some_polls = || tokio::time::sleep(Duration::from_secs(4));
        let [old, new] = [1, 2].map(|number| credential("a", number));
        let valid = || [&old, &new].map(|it| has(&bridges, it).is_some());
        some_polls().await;
        for (text, expected) in [
            (&*format!("{new}{old}"), [true, true]),
            // Neither an empty file nor the credential of another bridge changes anything.
            ("", [true, true]),
            (&*credential("b", 1), [true, true]),
            (&*new, [false, true]),
        ] {
            std::fs::write(folder.path().join("a"), text).unwrap();
            some_polls().await;
            assert_eq!(valid(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn without_files_there_is_nothing_to_watch() {
        let folder = tempfile::tempdir().unwrap();
        let bridges = Arc::new(with_files(folder.path(), &[]));
        watch_credentials(bridges).await;
    }
}

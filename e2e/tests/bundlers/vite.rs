//! Vite 6, 7 and 8: the development server, and the build.

use std::path::PathBuf;

use e2e::{ProcessGroup, TestBed, program_paths};

use crate::check_client_changes_page;
use crate::project::{Install, Project, packages};

macro_rules! versions {
    ($($version:ident = $major:expr,)*) => {
        $(
            mod $version {
                use super::*;

                #[tokio::test]
                async fn dev_with_npm() {
                    check_dev(Project::new("app", Install::Npm).await, $major).await;
                }

                #[tokio::test]
                async fn dev_with_pnpm() {
                    check_dev(Project::new("app", Install::Pnpm).await, $major).await;
                }

                #[tokio::test]
                async fn dev_in_a_hoisted_workspace() {
                    check_dev(Project::new("app", Install::HoistedWorkspace).await, $major).await;
                }

                #[tokio::test]
                async fn dev_with_a_linked_folder() {
                    check_dev(Project::new("app", Install::LinkedFolder).await, $major).await;
                }

                #[tokio::test]
                async fn dev_with_a_separate_cache_dir() {
                    let project = Project::new("app", Install::Npm).await;
                    project.write("vite.config.js", "export default { cacheDir: '.cache/vite' };");
                    check_dev(project, $major).await;
                }

                #[tokio::test]
                async fn build_with_npm() {
                    check_build(Project::new("app", Install::Npm).await, $major).await;
                }

                #[tokio::test]
                async fn build_with_a_linked_folder() {
                    check_build(Project::new("app", Install::LinkedFolder).await, $major).await;
                }
            }
        )*
    };
}

versions! {
    vite_6 = 6,
    vite_7 = 7,
    vite_8 = 8,
}

const ADDRESS: [&str; 4] = ["--port", "0", "--host", "127.0.0.1"];

async fn check_dev(project: Project, major: u8) {
    let bed = TestBed::bridge().await;
    let mut server = project.node(&vite(major), &ADDRESS);
    check_client_changes_page(&bed, &url(&mut server).await).await;
}

async fn check_build(project: Project, major: u8) {
    let bed = TestBed::bridge().await;
    project.run_node(&vite(major), &["build"]).await;
    let mut server = project.node(&vite(major), &[&["preview"], &ADDRESS[..]].concat());
    check_client_changes_page(&bed, &url(&mut server).await).await;
}

/// Returns the program of Vite. The newest is one of the packages of the journeys.
fn vite(major: u8) -> PathBuf {
    let packages = match major {
        8 => program_paths::node_modules(),
        _ => packages(&format!("vite{major}")),
    };
    packages.join("vite/bin/vite.js")
}

/// Waits until a server has printed its URL.
pub(crate) async fn url(server: &mut ProcessGroup) -> String {
    let line = server.wait_for_line("http://127.0.0.1:").await;
    let mut words = line.split_whitespace();
    let url = words.find(|word| word.starts_with("http://"));
    url.expect("the line has a URL").to_owned()
}

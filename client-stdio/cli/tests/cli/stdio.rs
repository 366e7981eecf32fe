//! `stdio`.

use raw_page::with_deadline;
use tokio::io::AsyncReadExt;

use crate::kit::*;
use crate::stdio_client::StdioClient;

#[tokio::test]
async fn a_client_is_connected_to_the_bridge() {
    let bridge = start_bridge(&[]).await;
    let _page = connect_page(&bridge).await;
    let mut client = StdioClient::start(&bridge.url());
    let initialized = client.initialize().await;
    // The name that it has without a bridge.
    assert_ne!(initialized["serverInfo"]["name"], "mcp-web-stdio");
    let listed = client.list_tools().await;
    assert!(listed.to_string().contains("add_card"), "{listed}");
    drop(client.input);
    let status = with_deadline("end", client.child.wait()).await.unwrap();
    assert!(status.success());
    bridge.shutdown().await;
}

/// Every AI client starts one of these processes, which runs as long as the client.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_has_no_threads_of_a_server_and_opens_only_its_connections() {
    let bridge = start_bridge(&[]).await;
    let mut client = StdioClient::start(&bridge.url());
    client.initialize().await;
    let process = format!("/proc/{}", client.child.id().unwrap());
    let threads = std::fs::read_dir(format!("{process}/task")).unwrap();
    let threads = threads.map(|it| std::fs::read_to_string(it.unwrap().path().join("comm")));
    let threads: Vec<_> = threads
        .map(|name| name.unwrap().trim().to_owned())
        .collect();
    // The program itself, the writer of the log, and the threads of the allocator.
    let expected = ["mcp-web", "log", "jemalloc_bg_thd"];
    assert!(
        threads.iter().all(|it| expected.contains(&it.as_str())),
        "{threads:?}"
    );
    // Those of this process are inherited.
    let inherited = open_files("/proc/self");
    let is_expected = |file: &String| {
        let kinds = ["pipe:", "socket:", "anon_inode:", "/dev/null"];
        kinds.iter().any(|kind| file.starts_with(kind)) || inherited.contains(file)
    };
    let files = open_files(&process);
    assert!(files.iter().all(is_expected), "{files:?}");
    bridge.shutdown().await;
}

/// Returns the files that a process has open, whose folder in `/proc` this is.
#[cfg(target_os = "linux")]
fn open_files(process: &str) -> Vec<String> {
    let files = std::fs::read_dir(format!("{process}/fd")).unwrap();
    let files = files.filter_map(|it| std::fs::read_link(it.unwrap().path()).ok());
    files.map(|it| it.display().to_string()).collect()
}

#[tokio::test]
async fn wrong_settings_leave_stdout_empty() {
    let mut command = program(&["stdio", "--url", "ftp://host"]);
    command.env("AUTH_TOKEN", TOKEN);
    let ended = run(command).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("MCP_SERVER_URL"), "{ended:?}");
}

#[tokio::test]
async fn without_a_bridge_it_says_what_to_start() {
    let bridge = start_bridge(&[]).await;
    let url = bridge.url();
    bridge.shutdown().await;
    let mut client = StdioClient::start(&url);
    let initialized = client.initialize().await;
    let text = initialized["instructions"].as_str().unwrap();
    assert!(text.contains("start it with `mcp-web bridge`"), "{text}");
    drop(client.input);
    let mut log = String::new();
    let mut stderr = client.child.stderr.take().unwrap();
    with_deadline("end of the log", stderr.read_to_string(&mut log))
        .await
        .unwrap();
    assert!(!log.contains(TOKEN), "{log}");
}

//! Pages in Chromium, and the server that they come from.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::kit::{Home, Running, TOKEN, chromium};

/// Serves the files of a folder. Its thread ends with the process.
pub(crate) struct FileServer {
    url: String,
    requests: Receiver<String>,
}

impl FileServer {
    pub(crate) fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // A page of `localhost` may use what one of an address may not.
        let url = format!("http://localhost:{}", listener.local_addr().unwrap().port());
        let folder = folder.to_owned();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, sender) = (folder.clone(), sender.clone());
                thread::spawn(move || answer(stream, &folder, &sender));
            }
        });
        Self { url, requests }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until this path is requested, and returns what follows it.
    pub(crate) fn wait_for(&self, path: &str) -> String {
        for request in &self.requests {
            if let Some(rest) = request.strip_prefix(path) {
                return rest.to_owned();
            }
        }
        unreachable!("the server ends with the process")
    }
}

fn answer(stream: TcpStream, folder: &Path, requests: &Sender<String>) {
    let mut lines = BufReader::new(&stream).lines();
    let Some(Ok(request)) = lines.next() else {
        return;
    };
    // Bytes that stay unread would reset the connection.
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    let path = match path {
        "/" => PathBuf::from("index.html"),
        path => path.trim_start_matches('/').into(),
    };
    let kind = match path.extension().and_then(|it| it.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    };
    let (status, body) = match fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The browser may have closed the connection.
    let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
    let _ = requests.send(target);
}

/// A page with the tool `greet`, which asks its server for `/state/registered` when clients can call it.
pub(crate) struct Page {
    server: FileServer,
    _browser: Running,
    _home: Home,
}

impl Page {
    /// The script of the page. `source` is the module that it imports.
    pub(crate) fn script(source: &str, bridge: &str) -> String {
        format!(
            r#"import {{ McpWeb }} from "{source}";

const report = (state) => fetch(`/state/${{state}}`).catch(() => {{}});
addEventListener("error", (event) => report(encodeURIComponent(event.message)));
const mcpWeb = new McpWeb({{ name: "greeter", description: "Greets", bridgeUrl: "{bridge}", authToken: "{TOKEN}" }});
const tool = mcpWeb.addTool({{
  name: "greet",
  description: "Greets somebody",
  inputSchema: {{ type: "object", properties: {{ name: {{ type: "string" }} }}, required: ["name"] }},
  handler: ({{ name }}) => `Hello ${{name}}`,
}});
tool.registered.then(
  () => report("registered"),
  (error) => report(encodeURIComponent(error.message)),
);
"#
        )
    }

    /// Opens the page in this folder, and waits until clients can call its tool.
    pub(crate) fn open(folder: &Path) -> Self {
        let server = FileServer::start(folder);
        let home = Home::new();
        let mut browser = home.command(chromium());
        let flags = include_str!("../../../../web-sdk/tests/chromium-flags.txt").lines();
        browser
            .args(flags)
            .args(["--headless", "--user-data-dir=profile"])
            .arg(server.url());
        // It complains about services that a machine without a desktop lacks.
        let browser = Running::start(browser.stderr(Stdio::null()));
        assert_eq!(server.wait_for("/state/"), "registered");
        Self {
            server,
            _browser: browser,
            _home: home,
        }
    }

    /// Opens a page that loads the SDK from the bridge.
    pub(crate) fn open_with_sdk_of(bridge: &str) -> Self {
        let folder = Home::new();
        let script = Self::script(&format!("{bridge}/sdk/mcp-web.js"), bridge);
        let page = format!("<!doctype html><script type=\"module\">{script}</script>");
        fs::write(folder.path().join("index.html"), page).unwrap();
        let page = Self::open(folder.path());
        assert!(page.server.url().starts_with("http://localhost:"));
        page
    }
}

//! `completions`.

use std::process::Stdio;

use tokio::process::Command;

use crate::kit::*;

#[tokio::test]
async fn bash_accepts_the_completions() {
    let ended = run(program(&["completions", "bash"])).await;
    assert_eq!(ended.code, Some(0));
    let mut bash = Command::new("bash");
    bash.arg("-n").stdout(Stdio::piped()).stderr(Stdio::piped());
    let checked = run_with_input(bash, &ended.stdout).await;
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn bash_completes_commands_and_flags() {
    let script = run(program(&["completions", "bash"])).await.stdout;
    for (words, expected) in [
        ("mcp-web br", "bridge"),
        ("mcp-web bridge --allowed-ori", "--allowed-origins"),
        ("mcp-web agent mcp sy", "sync"),
        ("mcp-web demo --agent-prov", "--agent-provider"),
        ("mcp-web admin pag", "pages"),
        ("mcp-web completions fi", "fish"),
    ] {
        let list: Vec<_> = words.split(' ').collect();
        let last = list.len() - 1;
        let (current, previous) = (list[last], list[last - 1]);
        let asks = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={last}\n\
             asked=$(complete -p mcp-web); asked=${{asked#*-F }}\n\
             \"${{asked%% *}}\" mcp-web '{current}' '{previous}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let completed = run_with_input(bash, &asks).await;
        let found = completed.stdout.lines().any(|line| line == expected);
        assert!(found, "{words}: {completed:?}");
    }
}

#[tokio::test]
async fn each_shell_has_completions_and_another_is_an_error() {
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let ended = run(program(&["completions", shell])).await;
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout.contains("mcp-web"), "{shell}");
    }
    let ended = run(program(&["completions", "cmd"])).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("powershell"), "{ended:?}");
}

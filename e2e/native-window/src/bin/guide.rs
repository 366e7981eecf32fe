use mcp_web_sdk::{McpWeb, Token};
use mcp_web_slint::{WindowOptions, offer_window};
use slint::ComponentHandle;

slint::slint! {
    import { Button } from "std-widgets.slint";

    export component Counter inherits Window {
        title: "Counter";
        property <int> count;

        VerticalLayout {
            Text { text: "Count: " + root.count; }
            Button {
                text: "Count up";
                clicked => { root.count += 1; }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bridge = std::env::args().nth(1);
    let app = McpWeb::builder("Counter")
        .bridge(bridge.as_deref().unwrap_or("http://localhost:3001"))
        .token(Token::kept("counter")?)
        .build()?;
    let window = Counter::new()?;
    window.show()?;
    let offered = offer_window(&app, &window, WindowOptions::default());
    app.spawn()?;
    println!("MCP server: {}", app.mcp_url());
    slint::run_event_loop()?;
    offered.leave();
    Ok(())
}

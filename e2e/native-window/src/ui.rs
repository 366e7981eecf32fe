//! The windows.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "Slint generates the code"
)]

slint::slint! {
    import { Button, CheckBox, ComboBox, LineEdit, ListView, Slider } from "std-widgets.slint";

    export component Main inherits Window {
        title: "Windows";
        preferred-width: 480px;
        preferred-height: 600px;
        in-out property <int> count;
        in property <[string]> rows;
        callback increment();
        callback remove-row(int);
        callback block();
        callback open-second();

        VerticalLayout {
            padding: 8px;
            spacing: 8px;

            HorizontalLayout {
                spacing: 8px;
                Text {
                    text: "Count: " + root.count;
                    font-size: 20px;
                    vertical-alignment: center;
                }
                plus := Button {
                    text: "Count up";
                    clicked => { root.increment(); }
                }
                // A button for the pointer alone: it offers no action to assistive technologies.
                tile := Rectangle {
                    background: area.has-hover ? #8ac : #ccc;
                    accessible-role: button;
                    accessible-label: "Tile";
                    accessible-description: area.has-hover ? "under the pointer" : "";
                    area := TouchArea {
                        clicked => { root.increment(); }
                    }
                    Text { text: "Tile"; }
                }
                Button {
                    text: "Off";
                    enabled: false;
                    clicked => { root.increment(); }
                }
            }
            HorizontalLayout {
                spacing: 8px;
                name := LineEdit {
                    accessible-label: "Name";
                    placeholder-text: "Who are you?";
                }
                password := LineEdit {
                    accessible-label: "Password";
                    input-type: InputType.password;
                }
                CheckBox { text: "Loud"; }
            }
            HorizontalLayout {
                spacing: 8px;
                volume := Slider {
                    accessible-label: "Volume";
                    value: 20;
                    maximum: 100;
                }
                Text {
                    text: "Volume: " + round(volume.value);
                    width: 100px;
                    vertical-alignment: center;
                }
                ComboBox {
                    model: ["Tea", "Coffee", "Water"];
                }
            }
            HorizontalLayout {
                spacing: 8px;
                LineEdit {
                    accessible-label: "Fixed";
                    text: "fixed";
                    read-only: true;
                }
                Button { text: "Save"; }
                Button { text: "Twin"; }
                Button { text: "Twin"; }
            }
            HorizontalLayout {
                spacing: 8px;
                Button {
                    text: "Block";
                    clicked => { root.block(); }
                }
                Button {
                    text: "Open second";
                    clicked => { root.open-second(); }
                }
            }
            ListView {
                accessible-label: "Rows";
                accessible-item-count: root.rows.length;
                for row[index] in root.rows: Rectangle {
                    height: 32px;
                    accessible-role: list-item;
                    accessible-label: row;
                    HorizontalLayout {
                        Text {
                            text: row;
                            vertical-alignment: center;
                        }
                        Button {
                            text: "Remove " + row;
                            clicked => { root.remove-row(index); }
                        }
                    }
                }
            }
        }
    }

    export component Second inherits Window {
        title: "Second";
        preferred-width: 240px;
        preferred-height: 120px;
        callback close-me();

        VerticalLayout {
            padding: 8px;
            Text { text: "Another window"; }
            Button {
                text: "Close";
                clicked => { root.close-me(); }
            }
        }
    }
}

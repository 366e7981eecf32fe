use super::*;

fn element(role: &str, name: &str, children: Vec<Node>) -> Node {
    Node {
        role: role.into(),
        name: (!name.is_empty()).then(|| name.into()),
        children,
        ..Node::default()
    }
}

fn control(role: &str, name: &str, reference: &str) -> Node {
    Node {
        reference: Some(reference.into()),
        ..element(role, name, Vec::new())
    }
}

fn clean_all(children: Vec<Node>) -> Vec<Node> {
    clean(&element("generic", "", children), &Limits::default())
}

#[test]
fn an_element_without_meaning_is_left_out_and_its_content_moves_up() {
    let link = control("link", "Home", "e1");
    let nested = element(
        "generic",
        "",
        vec![element("generic", "x", vec![link.clone()])],
    );
    let image = element("img", "", Vec::new());
    assert_eq!(
        clean_all(vec![nested, image, element("paragraph", "", Vec::new())]),
        [link]
    );
}

#[test]
fn adjacent_texts_are_joined() {
    let strong = element("strong", "", vec![Node::new_text("world")]);
    let nodes = clean_all(vec![Node::new_text(" Hello "), strong, Node::new_text("!")]);
    assert_eq!(nodes, [Node::new_text("Hello  world !")]);
}

#[test]
fn the_label_of_a_control_is_written_once() {
    let input = control("textbox", "Customer", "e1");
    let label = element(
        "generic",
        "",
        vec![Node::new_text("Customer"), input.clone()],
    );
    assert_eq!(clean_all(vec![label]), [input]);
}

#[test]
fn a_name_from_the_content_is_written_once() {
    let mut button = control("button", "Save order", "e1");
    button.children = vec![
        element("img", "", Vec::new()),
        element("paragraph", "", vec![Node::new_text("Save order")]),
    ];
    let nodes = clean_all(vec![button]);
    assert_eq!(nodes, [control("button", "Save order", "e1")]);
}

#[test]
fn a_row_consists_of_its_cells_and_controls() {
    let cell = |children| element("cell", "", children);
    let row = element(
        "row",
        "bolt 3 Remove",
        vec![
            cell(vec![Node::new_text("bolt")]),
            element("cell", "3", Vec::new()),
            element("cell", "Remove", vec![control("button", "Remove", "e8")]),
        ],
    );
    let table = element("table", "Lines", vec![element("rowgroup", "", vec![row])]);
    let expected = element(
        "row",
        "bolt | 3 | ",
        vec![control("button", "Remove", "e8")],
    );
    assert_eq!(clean_all(vec![table])[0].children, [expected]);
}

#[test]
fn a_cell_that_can_be_acted_on_is_written_once() {
    let row = element(
        "row",
        "1 Toyota",
        vec![
            element("gridcell", "1", Vec::new()),
            control("gridcell", "Toyota", "e5"),
        ],
    );
    let expected = element("row", "1 | ", vec![control("gridcell", "Toyota", "e5")]);
    assert_eq!(clean_all(vec![row]), [expected]);
}

#[test]
fn a_description_by_the_previous_sibling_is_written_once() {
    let with_description = |reference| Node {
        description: Some("Without tax".into()),
        ..control("textbox", "Price", reference)
    };
    let nodes = clean_all(["e1", "e2", "e3"].map(with_description).into());
    let descriptions: Vec<_> = nodes
        .iter()
        .map(|node| node.description.is_some())
        .collect();
    assert_eq!(descriptions, [true, false, false]);
}

#[test]
fn private_content_is_removed() {
    let mut private = element("private", "Salary", vec![Node::new_text("100")]);
    private.value = Some(NodeValue::One("100".into()));
    assert_eq!(clean_all(vec![private]), [Node::new(PRIVATE_ROLE)]);
}

#[test]
fn strings_are_cleaned_and_cut() {
    let mut input = control("text\"box", "a\u{202e}\nb", "e1\" [x]");
    input.value = Some(NodeValue::One("v".repeat(5000)));
    input.error = Some("e".repeat(300));
    let node = &clean_all(vec![input])[0];
    assert_eq!(node.role, "textbox");
    assert_eq!(node.name.as_deref(), Some("a b"));
    assert_eq!(node.reference.as_deref(), Some("e1x"));
    assert_eq!(
        node.value,
        Some(NodeValue::One(format!(
            "{}… (of 5,000 characters)",
            "v".repeat(4096)
        )))
    );
    assert!(
        node.error
            .as_ref()
            .unwrap()
            .ends_with("… (of 300 characters)")
    );
    let long = clean_all(vec![Node::new_text("t".repeat(501))]);
    assert!(
        long[0]
            .text
            .as_ref()
            .unwrap()
            .ends_with("t… (of 501 characters)")
    );
}

#[test]
fn only_controls_are_kept_on_request() {
    let form = element(
        "form",
        "Order",
        vec![
            element("heading", "Order", Vec::new()),
            control("textbox", "A", "e1"),
        ],
    );
    let kept = keep_interactive(clean_all(vec![
        form,
        element("paragraph", "", vec![Node::new_text("x")]),
    ]));
    assert_eq!(
        kept,
        [element(
            "form",
            "Order",
            vec![control("textbox", "A", "e1")]
        )]
    );
}

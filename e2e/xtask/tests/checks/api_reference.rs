//! Checks the API reference of the npm package.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use xtask::{Workspace, api};

/// The content of each page, by its name.
type Pages = BTreeMap<String, String>;

/// The types compile, everything that the package exports is described, and TypeDoc has no warning.
#[test]
fn links_of_the_generated_api_reference_lead_to_a_page_and_an_anchor() {
    let folder = api::generate(&Workspace::here()).unwrap();
    let pages = load(&folder);
    for (name, page) in &pages {
        for link in links(page) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { name } else { file };
            let exists = match pages.get(target) {
                Some(page) => anchor.is_empty() || anchors(page).contains(anchor),
                None => anchor.is_empty() && folder.join(target).exists(),
            };
            assert!(exists, "{name} links to {link}");
        }
    }
}

fn load(folder: &Path) -> Pages {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let pages = files.map(|file| {
        let name = file.file_name().into_string().unwrap();
        (name, fs::read_to_string(file.path()).unwrap())
    });
    pages.collect()
}

/// Returns the targets of a page's links.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let rests = page.split("](").skip(1);
    rests.filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// Returns the anchors of a page: those that it sets, and those that its headings get.
fn anchors(page: &str) -> BTreeSet<String> {
    let set = page.split("<a id=\"").skip(1);
    let mut anchors: BTreeSet<_> = set
        .filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned()))
        .collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if is_code || title == line {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .replace(' ', "-")
            .matches(|letter: char| letter.is_alphanumeric() || "-_".contains(letter))
            .collect();
        let count = counts.entry(slug.clone()).or_default();
        anchors.insert(match *count {
            0 => slug,
            earlier => format!("{slug}-{earlier}"),
        });
        *count += 1;
    }
    anchors
}

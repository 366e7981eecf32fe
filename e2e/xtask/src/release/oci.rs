//! The image of a container, as an archive with the layout of OCI. Its one layer has the program,
//! certificates of authorities, and a user without rights.

use anyhow::Result;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::glibc;
use super::licences::ProductTexts;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{DESCRIPTION, LICENSE, NAME, REGISTRY_NAME, REPOSITORY, VERSION};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use crate::fingerprint::sha256_hex;

/// A user without a name in most systems, so that the program owns no file outside.
const USER: u32 = 65_532;

/// The files of the layout, which are named after their sums.
#[derive(Default)]
struct Blobs(Vec<PackedFile>);

/// Writes the image with a variant for each architecture of Linux.
pub(super) fn write(
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
) -> Result<()> {
    let mut blobs = Blobs::default();
    let mut manifests = Vec::new();
    for one in programs {
        if let Some(architecture) = one.target.oci {
            manifests.push(image(&mut blobs, one, architecture, texts, release.time())?);
        }
    }
    if manifests.is_empty() {
        println!("    without an image: no program is for Linux");
        return Ok(());
    }
    let archive = pack::tar(&layout(blobs, manifests), release.time())?;
    release.write(&format!("oci/{NAME}-{VERSION}.oci.tar"), archive)
}

fn layout(mut blobs: Blobs, manifests: Vec<Value>) -> Vec<PackedFile> {
    let index = |manifests: Vec<Value>| {
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": manifests,
        })
    };
    // Programs take the one entry of the outer list that has the name of the version.
    let mut named = match <[Value; 1]>::try_from(manifests) {
        Ok([manifest]) => manifest,
        Err(manifests) => {
            let inner = index(manifests).to_string();
            blobs.add("application/vnd.oci.image.index.v1+json", inner.as_bytes())
        }
    };
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    let mut files = blobs.0;
    files.push(PackedFile::text(
        "oci-layout",
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    ));
    files.push(PackedFile::text(
        "index.json",
        index(vec![named]).to_string(),
    ));
    files
}

/// Adds the image of one architecture, and returns the reference to its manifest.
fn image(
    blobs: &mut Blobs,
    programs: &Programs,
    architecture: &str,
    texts: &ProductTexts,
    time: u64,
) -> Result<Value> {
    let layer = pack::tar(&layer_files(programs, texts)?, time)?;
    let diff_id = digest(&layer);
    let layer = blobs.add(
        "application/vnd.oci.image.layer.v1.tar+gzip",
        &pack::gzip(&layer)?,
    );
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": { "3001/tcp": {} },
            "Entrypoint": [format!("/{NAME}")],
            "Cmd": ["bridge"],
            "WorkingDir": "/",
            "Labels": {
                "io.modelcontextprotocol.server.name": REGISTRY_NAME,
                "org.opencontainers.image.description": DESCRIPTION,
                "org.opencontainers.image.licenses": LICENSE,
                "org.opencontainers.image.source": REPOSITORY,
                "org.opencontainers.image.version": VERSION,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [diff_id] },
    });
    let config = blobs.add(
        "application/vnd.oci.image.config.v1+json",
        config.to_string().as_bytes(),
    );
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blobs.add(
        "application/vnd.oci.image.manifest.v1+json",
        manifest.to_string().as_bytes(),
    );
    manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
    Ok(manifest)
}

fn layer_files(programs: &Programs, texts: &ProductTexts) -> Result<Vec<PackedFile>> {
    let mut files = vec![
        PackedFile::program(NAME, &programs.main),
        PackedFile::text("etc/ssl/certs/ca-certificates.crt", certificates()),
        PackedFile::text("etc/passwd", format!("{NAME}:x:{USER}:{USER}::/:/\n")),
        PackedFile::text("etc/group", format!("{NAME}:x:{USER}:\n")),
    ];
    let folder = format!("usr/share/doc/{NAME}");
    files.extend(texts.files().into_iter().map(|file| file.below(&folder)));
    if programs.target.is_glibc() {
        files.extend(glibc::libraries(programs)?);
    }
    Ok(files)
}

/// Mozilla's list of authorities, as one file. That of this machine can have further ones.
fn certificates() -> String {
    let mut text = String::new();
    for certificate in TLS_SERVER_ROOT_CERTS {
        let encoded = BASE64_STANDARD.encode(certificate);
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let mut rest = encoded.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(64));
            text.push_str(line);
            text.push('\n');
            rest = after;
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(content))
}

impl Blobs {
    /// Adds a file, and returns the reference to it.
    fn add(&mut self, media_type: &str, content: &[u8]) -> Value {
        let path = format!("blobs/sha256/{}", sha256_hex(content));
        if !self.0.iter().any(|file| file.path == path) {
            self.0.push(PackedFile::text(path, content));
        }
        json!({ "mediaType": media_type, "digest": digest(content), "size": content.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::targets::find;

    fn programs(triple: &str) -> Programs {
        Programs {
            target: find(triple).unwrap(),
            main: triple.as_bytes().into(),
            stdio: b""[..].into(),
        }
    }

    fn files_of(triples: &[&str]) -> Vec<PackedFile> {
        let mut blobs = Blobs::default();
        let texts = ProductTexts::for_tests();
        let manifests = triples.iter().map(|triple| {
            let programs = programs(triple);
            image(
                &mut blobs,
                &programs,
                programs.target.oci.unwrap(),
                &texts,
                1,
            )
            .unwrap()
        });
        let manifests = manifests.collect();
        layout(blobs, manifests)
    }

    fn json_at(files: &[PackedFile], path: &str) -> Value {
        let file = files.iter().find(|file| file.path == path).unwrap();
        serde_json::from_slice(&file.content).unwrap()
    }

    fn blob(files: &[PackedFile], reference: &Value) -> Value {
        let digest = reference["digest"].as_str().unwrap();
        json_at(files, &digest.replace("sha256:", "blobs/sha256/"))
    }

    #[test]
    fn the_image_runs_the_bridge_as_a_user_without_rights() {
        let files = files_of(&["x86_64-unknown-linux-musl"]);
        let index = json_at(&files, "index.json");
        let reference = &index["manifests"][0];
        assert_eq!(
            reference["annotations"]["org.opencontainers.image.ref.name"],
            VERSION
        );
        let manifest = blob(&files, reference);
        let config = blob(&files, &manifest["config"]);
        assert_eq!(config["config"]["Entrypoint"], json!(["/mcp-web"]));
        assert_eq!(config["config"]["Cmd"], json!(["bridge"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        for file in files.iter().filter(|file| file.path.starts_with("blobs/")) {
            assert!(file.path.ends_with(&sha256_hex(&file.content)));
        }
    }

    #[test]
    fn an_image_of_two_architectures_has_both_in_one_list() {
        let files = files_of(&["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]);
        let outer = json_at(&files, "index.json");
        assert_eq!(outer["manifests"].as_array().unwrap().len(), 1);
        let inner = blob(&files, &outer["manifests"][0]);
        let of = |index: usize| &inner["manifests"][index]["platform"]["architecture"];
        assert_eq!((of(0), of(1)), (&json!("amd64"), &json!("arm64")));
    }

    #[test]
    fn the_layer_has_only_what_the_program_needs() {
        let files = layer_files(
            &programs("x86_64-unknown-linux-musl"),
            &ProductTexts::for_tests(),
        );
        let paths: Vec<_> = files.unwrap().into_iter().map(|file| file.path).collect();
        let expected = [
            "mcp-web",
            "etc/ssl/certs/ca-certificates.crt",
            "etc/passwd",
            "etc/group",
            "usr/share/doc/mcp-web/LICENSE",
            "usr/share/doc/mcp-web/THIRD-PARTY.txt",
        ];
        assert_eq!(paths, expected);
        let certificates = certificates();
        assert!(certificates.matches("BEGIN").count() > 100);
        assert!(certificates.lines().all(|line| line.len() <= 64));
    }
}

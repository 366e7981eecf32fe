//! The picture of a window.

use mcp_web_sdk::page::{ActionCode, ActionFailure, Picture};
use slint::{Rgba8Pixel, SharedPixelBuffer};

use crate::item::Item;

/// A part of a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

/// The pixels of a window, or of one element.
pub(crate) struct Pixels {
    buffer: SharedPixelBuffer<Rgba8Pixel>,
    part: Part,
}

/// Draws a window and returns all of it, or the part that shows an element.
pub(crate) fn take(window: &slint::Window, item: Option<&Item>) -> Result<Pixels, ActionFailure> {
    let buffer = window.take_snapshot().map_err(|error| {
        let message = format!("the window cannot be drawn: {error}; take a page_snapshot");
        ActionFailure::new(ActionCode::ActionFailed, message)
    })?;
    let (width, height) = (buffer.width(), buffer.height());
    let part = match item {
        None => Part {
            x: 0,
            y: 0,
            width,
            height,
        },
        Some(item) => part_of(item, window.scale_factor(), width, height).ok_or_else(|| {
            let message = "the element is out of view: scroll to it first";
            ActionFailure::new(ActionCode::TargetHidden, message)
        })?,
    };
    Ok(Pixels { buffer, part })
}

impl Pixels {
    /// Writes the pixels as PNG.
    pub(crate) fn encode(&self) -> Result<Picture, ActionFailure> {
        let Part { width, height, .. } = self.part;
        let bytes = encode(width, height, &self.part_bytes()).map_err(|error| {
            let message = format!("the picture cannot be written: {error}");
            ActionFailure::new(ActionCode::ActionFailed, message)
        })?;
        Ok(Picture {
            bytes,
            mime_type: "image/png".to_owned(),
        })
    }

    fn part_bytes(&self) -> Vec<u8> {
        const PIXEL_BYTES: usize = 4;
        let Part {
            x,
            y,
            width,
            height,
        } = self.part;
        let row_bytes = self.buffer.width() as usize * PIXEL_BYTES;
        let rows = self.buffer.as_bytes().chunks_exact(row_bytes);
        let rows = rows.skip(y as usize).take(height as usize);
        let columns = x as usize * PIXEL_BYTES..(x + width) as usize * PIXEL_BYTES;
        rows.flat_map(|row| &row[columns.clone()])
            .copied()
            .collect()
    }
}

/// Returns the part of the window's picture that shows an element, if any.
fn part_of(item: &Item, scale: f32, width: u32, height: u32) -> Option<Part> {
    let place = item.rectangle();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is in the picture"
    )]
    let pixel = |length: f32, most: u32| (length * scale).clamp(0.0, most as f32) as u32;
    let (x, y) = (pixel(place.min_x(), width), pixel(place.min_y(), height));
    let part = Part {
        x,
        y,
        width: pixel(place.max_x(), width) - x,
        height: pixel(place.max_y(), height) - y,
    };
    (part.width > 0 && part.height > 0).then_some(part)
}

fn encode(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

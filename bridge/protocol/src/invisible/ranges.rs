//! The tables. A test compares them with the data of Unicode.

/// The borders of ranges of characters, each as its distance from the one before it, in LEB128. Pages
/// download the tables, and pairs of characters would have four times as many bytes.
pub(super) type Ranges = &'static [u8];

/// Returns whether a character is in one of the ranges.
pub(super) fn contains(ranges: Ranges, character: char) -> bool {
    let (mut border, mut distance, mut shift) = (0, 0, 0);
    let mut is_inside = false;
    for byte in ranges {
        distance |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            border += distance;
            if u32::from(character) < border {
                return is_inside;
            }
            is_inside = !is_inside;
            (distance, shift) = (0, 0);
        }
    }
    is_inside
}

/// Encodes ranges, each with its first and its last character, and returns the number of bytes that
/// this takes.
const fn encode<const SIZE: usize>(ranges: &[(char, char)]) -> ([u8; SIZE], usize) {
    let (mut bytes, mut length) = ([0; SIZE], 0);
    let (mut border, mut index) = (0, 0);
    while index < 2 * ranges.len() {
        let (first, last) = ranges[index / 2];
        let next = if index % 2 == 0 {
            first as u32
        } else {
            last as u32 + 1
        };
        let mut distance = next - border;
        while distance >= 0x80 {
            bytes[length] = distance as u8 | 0x80;
            length += 1;
            distance >>= 7;
        }
        bytes[length] = distance as u8;
        length += 1;
        border = next;
        index += 1;
    }
    (bytes, length)
}

macro_rules! ranges {
    ($($first:literal $(..= $last:literal)?,)*) => {{
        const RANGES: &[(char, char)] = &[$(($first, last_of!($first $(, $last)?))),*];
        const SIZE: usize = encode::<{ 8 * RANGES.len() }>(RANGES).1;
        const { &encode::<SIZE>(RANGES).0 }
    }};
}

macro_rules! last_of {
    ($first:literal) => {
        $first
    };
    ($first:literal, $last:literal) => {
        $last
    };
}

/// Invisible characters, and those that change the direction of the text around them:
///
/// - `Default_Ignorable_Code_Point`, to which variation selectors, tags, joiners and fillers belong;
/// - the general categories `Cc` (without line feed and tab), `Cf`, `Zl` and `Zp`, to which
///   `Bidi_Control` belongs, without `Prepended_Concatenation_Mark`, which is drawn;
/// - and others that have no ink by their design or in browsers: U+2800 BRAILLE PATTERN BLANK, U+FFFC
///   OBJECT REPLACEMENT CHARACTER, the noncharacters U+FFFE and U+FFFF, U+16FE4 KHITAN SMALL SCRIPT
///   FILLER, and U+1D159 MUSICAL SYMBOL NULL NOTEHEAD.
///
/// Of the blank letters, the Hangul fillers (U+115F, U+1160, U+3164, U+FFA0) are ignorable by default.
pub(super) const INVISIBLE: Ranges = ranges! {
    '\u{0}'..='\u{8}', '\u{b}'..='\u{1f}', '\u{7f}'..='\u{9f}', '\u{ad}', '\u{34f}', '\u{61c}',
    '\u{115f}'..='\u{1160}', '\u{17b4}'..='\u{17b5}', '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}', '\u{2800}',
    '\u{3164}', '\u{fe00}'..='\u{fe0f}', '\u{feff}', '\u{ffa0}', '\u{fff0}'..='\u{fffc}',
    '\u{fffe}'..='\u{ffff}', '\u{13430}'..='\u{1343f}', '\u{16fe4}', '\u{1bca0}'..='\u{1bca3}',
    '\u{1d159}', '\u{1d173}'..='\u{1d17a}', '\u{e0000}'..='\u{e0fff}',
};

/// `Emoji`, except ASCII, of which `#`, `*` and digits are emojis only as the caps of keys.
pub(super) const EMOJI: Ranges = ranges! {
    '\u{a9}', '\u{ae}', '\u{203c}', '\u{2049}', '\u{2122}', '\u{2139}', '\u{2194}'..='\u{2199}',
    '\u{21a9}'..='\u{21aa}', '\u{231a}'..='\u{231b}', '\u{2328}', '\u{23cf}',
    '\u{23e9}'..='\u{23f3}', '\u{23f8}'..='\u{23fa}', '\u{24c2}', '\u{25aa}'..='\u{25ab}',
    '\u{25b6}', '\u{25c0}', '\u{25fb}'..='\u{25fe}', '\u{2600}'..='\u{2604}', '\u{260e}',
    '\u{2611}', '\u{2614}'..='\u{2615}', '\u{2618}', '\u{261d}', '\u{2620}',
    '\u{2622}'..='\u{2623}', '\u{2626}', '\u{262a}', '\u{262e}'..='\u{262f}',
    '\u{2638}'..='\u{263a}', '\u{2640}', '\u{2642}', '\u{2648}'..='\u{2653}',
    '\u{265f}'..='\u{2660}', '\u{2663}', '\u{2665}'..='\u{2666}', '\u{2668}', '\u{267b}',
    '\u{267e}'..='\u{267f}', '\u{2692}'..='\u{2697}', '\u{2699}', '\u{269b}'..='\u{269c}',
    '\u{26a0}'..='\u{26a1}', '\u{26a7}', '\u{26aa}'..='\u{26ab}', '\u{26b0}'..='\u{26b1}',
    '\u{26bd}'..='\u{26be}', '\u{26c4}'..='\u{26c5}', '\u{26c8}', '\u{26ce}'..='\u{26cf}',
    '\u{26d1}', '\u{26d3}'..='\u{26d4}', '\u{26e9}'..='\u{26ea}', '\u{26f0}'..='\u{26f5}',
    '\u{26f7}'..='\u{26fa}', '\u{26fd}', '\u{2702}', '\u{2705}', '\u{2708}'..='\u{270d}',
    '\u{270f}', '\u{2712}', '\u{2714}', '\u{2716}', '\u{271d}', '\u{2721}', '\u{2728}',
    '\u{2733}'..='\u{2734}', '\u{2744}', '\u{2747}', '\u{274c}', '\u{274e}',
    '\u{2753}'..='\u{2755}', '\u{2757}', '\u{2763}'..='\u{2764}', '\u{2795}'..='\u{2797}',
    '\u{27a1}', '\u{27b0}', '\u{27bf}', '\u{2934}'..='\u{2935}', '\u{2b05}'..='\u{2b07}',
    '\u{2b1b}'..='\u{2b1c}', '\u{2b50}', '\u{2b55}', '\u{3030}', '\u{303d}', '\u{3297}',
    '\u{3299}', '\u{1f004}', '\u{1f0cf}', '\u{1f170}'..='\u{1f171}', '\u{1f17e}'..='\u{1f17f}',
    '\u{1f18e}', '\u{1f191}'..='\u{1f19a}', '\u{1f1e6}'..='\u{1f1ff}', '\u{1f201}'..='\u{1f202}',
    '\u{1f21a}', '\u{1f22f}', '\u{1f232}'..='\u{1f23a}', '\u{1f250}'..='\u{1f251}',
    '\u{1f300}'..='\u{1f321}', '\u{1f324}'..='\u{1f393}', '\u{1f396}'..='\u{1f397}',
    '\u{1f399}'..='\u{1f39b}', '\u{1f39e}'..='\u{1f3f0}', '\u{1f3f3}'..='\u{1f3f5}',
    '\u{1f3f7}'..='\u{1f4fd}', '\u{1f4ff}'..='\u{1f53d}', '\u{1f549}'..='\u{1f54e}',
    '\u{1f550}'..='\u{1f567}', '\u{1f56f}'..='\u{1f570}', '\u{1f573}'..='\u{1f57a}', '\u{1f587}',
    '\u{1f58a}'..='\u{1f58d}', '\u{1f590}', '\u{1f595}'..='\u{1f596}', '\u{1f5a4}'..='\u{1f5a5}',
    '\u{1f5a8}', '\u{1f5b1}'..='\u{1f5b2}', '\u{1f5bc}', '\u{1f5c2}'..='\u{1f5c4}',
    '\u{1f5d1}'..='\u{1f5d3}', '\u{1f5dc}'..='\u{1f5de}', '\u{1f5e1}', '\u{1f5e3}', '\u{1f5e8}',
    '\u{1f5ef}', '\u{1f5f3}', '\u{1f5fa}'..='\u{1f64f}', '\u{1f680}'..='\u{1f6c5}',
    '\u{1f6cb}'..='\u{1f6d2}', '\u{1f6d5}'..='\u{1f6d9}', '\u{1f6dc}'..='\u{1f6e5}', '\u{1f6e9}',
    '\u{1f6eb}'..='\u{1f6ec}', '\u{1f6f0}', '\u{1f6f3}'..='\u{1f6fc}', '\u{1f7e0}'..='\u{1f7eb}',
    '\u{1f7f0}', '\u{1f90c}'..='\u{1f93a}', '\u{1f93c}'..='\u{1f945}', '\u{1f947}'..='\u{1f9ff}',
    '\u{1fa70}'..='\u{1fa7c}', '\u{1fa80}'..='\u{1fac6}', '\u{1fac8}', '\u{1facc}'..='\u{1fadd}',
    '\u{1fadf}'..='\u{1faeb}', '\u{1faef}'..='\u{1fafa}',
};

/// `Indic_Syllabic_Category=Virama`, in the Basic Multilingual Plane.
pub(super) const VIRAMAS: Ranges = ranges! {
    '\u{94d}', '\u{9cd}', '\u{a4d}', '\u{acd}', '\u{b4d}', '\u{bcd}', '\u{c4d}', '\u{ccd}',
    '\u{d4d}', '\u{dca}', '\u{1b44}', '\u{a806}', '\u{a8c4}', '\u{a9c0}',
};

/// Letters of `Script=Arabic` that join the next one: `Joining_Type=Dual_Joining`.
pub(super) const JOINING: Ranges = ranges! {
    '\u{620}', '\u{626}', '\u{628}', '\u{62a}'..='\u{62e}', '\u{633}'..='\u{63f}',
    '\u{641}'..='\u{647}', '\u{649}'..='\u{64a}', '\u{66e}'..='\u{66f}', '\u{678}'..='\u{687}',
    '\u{69a}'..='\u{6bf}', '\u{6c1}'..='\u{6c2}', '\u{6cc}', '\u{6ce}', '\u{6d0}'..='\u{6d1}',
    '\u{6fa}'..='\u{6fc}', '\u{6ff}', '\u{750}'..='\u{758}', '\u{75c}'..='\u{76a}',
    '\u{76d}'..='\u{770}', '\u{772}', '\u{775}'..='\u{777}', '\u{77a}'..='\u{77f}', '\u{886}',
    '\u{889}'..='\u{88d}', '\u{88f}', '\u{8a0}'..='\u{8a9}', '\u{8af}'..='\u{8b0}',
    '\u{8b3}'..='\u{8b8}', '\u{8ba}'..='\u{8c8}', '\u{10ec3}'..='\u{10ec4}',
    '\u{10ec6}'..='\u{10ec7}',
};

/// Letters of `Script=Arabic` that the previous one joins: `Joining_Type` is `Dual_Joining` or
/// `Right_Joining`.
pub(super) const JOINED: Ranges = ranges! {
    '\u{620}', '\u{622}'..='\u{63f}', '\u{641}'..='\u{64a}', '\u{66e}'..='\u{66f}',
    '\u{671}'..='\u{673}', '\u{675}'..='\u{6d3}', '\u{6d5}', '\u{6ee}'..='\u{6ef}',
    '\u{6fa}'..='\u{6fc}', '\u{6ff}', '\u{750}'..='\u{77f}', '\u{870}'..='\u{882}', '\u{886}',
    '\u{889}'..='\u{88f}', '\u{8a0}'..='\u{8ac}', '\u{8ae}'..='\u{8c8}', '\u{10ec2}'..='\u{10ec4}',
    '\u{10ec6}'..='\u{10ec7}',
};

//! The attributes of an item that say whether only tests compile it, and where its file is.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Meta, Token};

/// Returns whether only tests compile the item: it has `#[cfg(test)]` or a condition that implies
/// it, or an attribute such as `#[test]` or `#[tokio::test]`.
pub(super) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        if path.is_ident("cfg") {
            return attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| implies_test(&condition));
        }
        path.segments.last().is_some_and(|it| it.ident == "test")
    })
}

/// Returns whether a condition of `cfg` holds only when tests are compiled.
fn implies_test(condition: &Meta) -> bool {
    let path = condition.path();
    let Meta::List(list) = condition else {
        return path.is_ident("test");
    };
    let Ok(operands) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
        return false;
    };
    if path.is_ident("all") {
        return operands.iter().any(implies_test);
    }
    path.is_ident("any") && !operands.is_empty() && operands.iter().all(implies_test)
}

/// Returns the path in `#[path = "…"]`.
pub(super) fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(it) if it.path.is_ident("path") => match &it.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(path),
                    ..
                }) => Some(path.value()),
                _ => None,
            },
            _ => None,
        })
}

/// Returns the attributes of an item.
pub(super) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Returns the attributes of an item in an `impl` block.
pub(super) fn impl_item_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(it) => &it.attrs,
        ImplItem::Fn(it) => &it.attrs,
        ImplItem::Macro(it) => &it.attrs,
        ImplItem::Type(it) => &it.attrs,
        _ => &[],
    }
}

//! Every public item shows how it is used. Read from the sources: stable rustdoc does not list
//! what lacks an example.

use std::path::{Path, PathBuf};

use syn::{
    Attribute, Block, Expr, Ident, ImplItem, Item, Lit, Meta, Signature, Stmt, TraitItem, Type,
    UseTree, Visibility,
};

/// The rule: whatever lib.rs exports has a code block in its doc comment that is compiled, and so
/// has every public method and constant of such a type, and every method of such a trait that
/// need not be written (those that must be are shown by the trait's own example). Fields and
/// variants are shown by their type's example. A method that only hands out a field needs none.
#[test]
fn every_public_item_has_an_example() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files(&sources);
    let exported = exported(&parsed(&sources.join("lib.rs")));
    assert!(exported.len() > 20, "the exports were not found");
    let mut missing = Vec::new();
    for name in &exported {
        let mut is_found = false;
        for item in files.iter().flatten() {
            match named(item) {
                Some((Visibility::Public(_), ident, attributes)) if ident == name => {
                    is_found = true;
                    check(attributes, name, &mut missing);
                    if let Item::Trait(item) = item {
                        check_provided(&item.items, name, &mut missing);
                    }
                }
                _ => {}
            }
            if let Item::Impl(block) = item
                && block.trait_.is_none()
                && is_called(&block.self_ty, name)
            {
                check_inherent(&block.items, name, &mut missing);
            }
        }
        assert!(is_found, "{name} is exported and not found");
    }
    assert!(missing.is_empty(), "without an example:\n{}", missing.join("\n"));
}

fn parsed(path: &Path) -> Vec<Item> {
    let text = std::fs::read_to_string(path).unwrap();
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).items
}

fn files(sources: &Path) -> Vec<Vec<Item>> {
    let mut folders = vec![PathBuf::from(sources)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(parsed(&path));
            }
        }
    }
    files
}

/// Returns the names under which the exported items are written where they are.
fn exported(items: &[Item]) -> Vec<Ident> {
    let mut names = Vec::new();
    for item in items {
        match item {
            Item::Use(item) => {
                assert!(matches!(item.vis, Visibility::Public(_)), "lib.rs only exports");
                leaves(&item.tree, &mut names);
            }
            Item::Mod(item) if matches!(item.vis, Visibility::Inherited) => {}
            _ => panic!("lib.rs holds private modules and exports, nothing else"),
        }
    }
    names
}

fn leaves(tree: &UseTree, names: &mut Vec<Ident>) {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        UseTree::Name(name) => names.push(name.ident.clone()),
        UseTree::Rename(rename) => names.push(rename.ident.clone()),
        _ => panic!("lib.rs exports by name"),
    }
}

fn named(item: &Item) -> Option<(&Visibility, &Ident, &[Attribute])> {
    match item {
        Item::Const(item) => Some((&item.vis, &item.ident, &item.attrs)),
        Item::Enum(item) => Some((&item.vis, &item.ident, &item.attrs)),
        Item::Fn(item) => Some((&item.vis, &item.sig.ident, &item.attrs)),
        Item::Static(item) => Some((&item.vis, &item.ident, &item.attrs)),
        Item::Struct(item) => Some((&item.vis, &item.ident, &item.attrs)),
        Item::Trait(item) => Some((&item.vis, &item.ident, &item.attrs)),
        Item::Type(item) => Some((&item.vis, &item.ident, &item.attrs)),
        _ => None,
    }
}

fn is_called(ty: &Type, name: &Ident) -> bool {
    matches!(ty, Type::Path(ty) if ty.path.segments.last().is_some_and(|last| last.ident == *name))
}

fn check_inherent(items: &[ImplItem], of: &Ident, missing: &mut Vec<String>) {
    for item in items {
        match item {
            ImplItem::Fn(method)
                if matches!(method.vis, Visibility::Public(_))
                    && !hands_out_a_field(&method.sig, &method.block) =>
            {
                check(&method.attrs, format!("{of}::{}", method.sig.ident), missing);
            }
            ImplItem::Const(constant) if matches!(constant.vis, Visibility::Public(_)) => {
                check(&constant.attrs, format!("{of}::{}", constant.ident), missing);
            }
            _ => {}
        }
    }
}

fn check_provided(items: &[TraitItem], of: &Ident, missing: &mut Vec<String>) {
    for item in items {
        if let TraitItem::Fn(method) = item
            && method.default.is_some()
        {
            check(&method.attrs, format!("{of}::{}", method.sig.ident), missing);
        }
    }
}

/// Says whether a method is `self.field` or `&self.field` and takes nothing but `self`.
fn hands_out_a_field(signature: &Signature, body: &Block) -> bool {
    let [Stmt::Expr(expression, None)] = body.stmts.as_slice() else { return false };
    let expression = match expression {
        Expr::Reference(reference) => &reference.expr,
        other => other,
    };
    signature.inputs.len() == 1
        && matches!(expression, Expr::Field(field)
            if matches!(&*field.base, Expr::Path(base) if base.path.is_ident("self")))
}

fn check(attributes: &[Attribute], name: impl ToString, missing: &mut Vec<String>) {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let fences: Vec<String> =
        lines.map(|line| line.trim().to_owned()).filter(|line| line.starts_with("```")).collect();
    // Every second fence closes a block. `no_run` is compiled, too.
    if !fences.iter().step_by(2).any(|opening| ["```", "```no_run"].contains(&opening.as_str())) {
        missing.push(name.to_string());
    }
}

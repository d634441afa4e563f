//! Pages of HTML as browsers read them, in an arena of nodes.
//!
//! `html5ever` knows the algorithm of the standard, which makes a tree of any text; it looks through
//! all open elements now and then, and a text can ask it to open the same elements again and again. So
//! nesting is limited, and so is the number of nodes for each byte; both are looked at after every few
//! kilobytes.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{
    Attribute, ExpandedName, LocalName, ParseOpts, Parser, QualName, TokenizerResult, ns,
    parse_document, parse_fragment,
};

use super::{Event, Fault, Tape};

/// How a text is read.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The element that a part of a page stands in; none for a whole page.
    pub context: Option<&'a str>,
    /// Elements in one another.
    pub depth_max: usize,
    /// Whether what is against the standard is a fault.
    pub is_strict: bool,
}

/// Bytes between two looks at the limits.
const PIECE_BYTES: usize = 4096;
/// White space in a piece without a node: attributes of one tag, which are compared with one another.
const SPACES_MAX: usize = 50_000;
/// Nodes that every text may have.
const NODES_FREE: usize = 64;

/// Reads a page, or a part of one.
pub fn read(text: &str, options: &Options<'_>) -> Result<Tape, Fault> {
    let parse_options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let sink = Tree::new(options.depth_max);
    let parser = match options.context {
        None => parse_document(sink, parse_options),
        Some(context) => {
            let name = QualName::new(None, ns!(html), LocalName::from(context));
            parse_fragment(sink, parse_options, name, Vec::new(), false)
        }
    };
    feed(&parser, text, options)?;
    parser.tokenizer.end();
    let tree = &parser.tokenizer.sink.sink;
    check(tree, text, text.len(), options)?;
    Ok(tree.tape(options.context.is_some()))
}

fn feed(parser: &Parser<Tree>, text: &str, options: &Options<'_>) -> Result<(), Fault> {
    let tree = &parser.tokenizer.sink.sink;
    let queue = BufferQueue::default();
    let (mut start, mut spaces) = (0, 0);
    while start < text.len() {
        let mut end = (start + PIECE_BYTES).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let piece = &text[start..end];
        let changes = tree.changes.get();
        queue.push_back(StrTendril::from_slice(piece));
        // Anything but `Done` is a script that a browser would run now, or an encoding that it would
        // change to.
        while !matches!(parser.tokenizer.feed(&queue), TokenizerResult::Done) {}
        start = end;
        check(tree, text, start, options)?;
        spaces = if tree.changes.get() == changes {
            spaces + piece.bytes().filter(u8::is_ascii_whitespace).count()
        } else {
            0
        };
        if spaces > SPACES_MAX {
            return Err(Fault::new("a tag has too many attributes", start));
        }
    }
    Ok(())
}

fn check(tree: &Tree, text: &str, offset: usize, options: &Options<'_>) -> Result<(), Fault> {
    if tree.is_too_deep.get() {
        let message = format!("elements are more than {} deep", options.depth_max);
        return Err(Fault::new(message, offset));
    }
    if tree.nodes.borrow().len() > NODES_FREE + 2 * text.len() {
        let message = "tags that are not closed would be repeated too often";
        return Err(Fault::new(message, offset));
    }
    if options.is_strict
        && let Some((message, line)) = tree.error.take()
    {
        let offset = match line.checked_sub(2) {
            None => 0,
            Some(line) => text
                .match_indices('\n')
                .nth(line as usize)
                .map_or(0, |end| end.0 + 1),
        };
        return Err(Fault::new(message, offset));
    }
    Ok(())
}

/// The index of a node; [`NONE`] for no node.
type Index = usize;
const NONE: Index = usize::MAX;
const DOCUMENT: Index = 0;

enum Data {
    /// The document, or the content of a template.
    Root,
    Element {
        name: Rc<QualName>,
        attributes: Vec<Attribute>,
        template: Index,
        is_integration_point: bool,
    },
    Text(String),
    Comment(StrTendril),
    Instruction(StrTendril, StrTendril),
    Doctype(StrTendril, StrTendril, StrTendril),
}

struct Node {
    parent: Index,
    previous: Index,
    next: Index,
    first: Index,
    last: Index,
    depth: usize,
    data: Data,
}

/// A node and its name, which is asked for all the time; that of what is no element is empty.
#[derive(Clone)]
struct Handle {
    index: Index,
    name: Rc<QualName>,
}

struct Tree {
    nodes: RefCell<Vec<Node>>,
    no_name: Rc<QualName>,
    depth_max: usize,
    is_too_deep: Cell<bool>,
    changes: Cell<u64>,
    line: Cell<u64>,
    /// The first thing against the standard, and its line.
    error: RefCell<Option<(String, u64)>>,
}

impl Tree {
    fn new(depth_max: usize) -> Tree {
        let tree = Tree {
            nodes: RefCell::default(),
            no_name: Rc::new(QualName::new(None, ns!(), LocalName::from(""))),
            depth_max,
            is_too_deep: Cell::new(false),
            changes: Cell::new(0),
            line: Cell::new(1),
            error: RefCell::default(),
        };
        tree.add(Data::Root);
        tree
    }

    fn add(&self, data: Data) -> Index {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node {
            parent: NONE,
            previous: NONE,
            next: NONE,
            first: NONE,
            last: NONE,
            depth: 0,
            data,
        });
        self.changes.set(self.changes.get() + 1);
        nodes.len() - 1
    }

    fn nameless(&self, index: Index) -> Handle {
        Handle {
            index,
            name: Rc::clone(&self.no_name),
        }
    }

    fn unlink(&self, index: Index) {
        let mut nodes = self.nodes.borrow_mut();
        let Node {
            parent,
            previous,
            next,
            ..
        } = nodes[index];
        if parent == NONE {
            return;
        }
        match previous {
            NONE => nodes[parent].first = next,
            _ => nodes[previous].next = next,
        }
        match next {
            NONE => nodes[parent].last = previous,
            _ => nodes[next].previous = previous,
        }
        let node = &mut nodes[index];
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
    }

    /// Puts a node that stands nowhere before `next`, or last.
    fn link(&self, index: Index, parent: Index, next: Index) {
        let mut nodes = self.nodes.borrow_mut();
        let previous = match next {
            NONE => nodes[parent].last,
            _ => nodes[next].previous,
        };
        match previous {
            NONE => nodes[parent].first = index,
            _ => nodes[previous].next = index,
        }
        match next {
            NONE => nodes[parent].last = index,
            _ => nodes[next].previous = index,
        }
        let depth = nodes[parent].depth + 1;
        if depth > self.depth_max {
            self.is_too_deep.set(true);
        }
        let node = &mut nodes[index];
        (node.parent, node.previous, node.next) = (parent, previous, next);
        node.depth = depth;
    }

    fn insert(&self, child: NodeOrText<Handle>, parent: Index, next: Index) {
        self.changes.set(self.changes.get() + 1);
        match child {
            NodeOrText::AppendNode(node) => {
                self.unlink(node.index);
                self.link(node.index, parent, next);
            }
            NodeOrText::AppendText(text) => {
                let previous = {
                    let nodes = self.nodes.borrow();
                    match next {
                        NONE => nodes[parent].last,
                        _ => nodes[next].previous,
                    }
                };
                if previous != NONE
                    && let Data::Text(before) = &mut self.nodes.borrow_mut()[previous].data
                {
                    before.push_str(&text);
                    return;
                }
                let index = self.add(Data::Text(text.to_string()));
                self.link(index, parent, next);
            }
        }
    }

    /// The events of the document. A part of a page is the content of an element that the reader made for it.
    fn tape(&self, is_part: bool) -> Tape {
        let nodes = self.nodes.borrow();
        let mut tape = Tape::default();
        let mut top = DOCUMENT;
        if is_part {
            top = nodes[DOCUMENT].first;
        }
        if top == NONE {
            return tape;
        }
        // A walk that comes back up out of a template continues with what follows the template's element.
        let mut index = nodes[top].first;
        let mut open: Vec<Index> = Vec::new();
        loop {
            while index == NONE {
                let Some(element) = open.pop() else {
                    return tape;
                };
                tape.events.push(Event::End);
                index = nodes[element].next;
            }
            index = match &nodes[index].data {
                Data::Element { template, .. } => {
                    open.push(index);
                    tape.node(&nodes[index].data);
                    match *template {
                        NONE => nodes[index].first,
                        content => nodes[content].first,
                    }
                }
                data => {
                    tape.node(data);
                    nodes[index].next
                }
            };
        }
    }
}

impl Tape {
    fn push(&mut self, text: &str) -> usize {
        self.text.push_str(text);
        text.len()
    }

    fn node(&mut self, data: &Data) {
        let event = match data {
            Data::Root => return,
            Data::Element {
                name, attributes, ..
            } => {
                let name = self.push(&name.local);
                self.events.push(Event::Element {
                    name,
                    attributes: attributes.len(),
                });
                for attribute in attributes {
                    let mut name = 0;
                    if let Some(prefix) = &attribute.name.prefix
                        && !prefix.is_empty()
                    {
                        name = self.push(prefix) + self.push(":");
                    }
                    name += self.push(&attribute.name.local);
                    let value = self.push(&attribute.value);
                    self.events.push(Event::Attribute { name, value });
                }
                return;
            }
            Data::Text(text) => Event::Text(self.push(text)),
            Data::Comment(text) => Event::Comment(self.push(text)),
            Data::Instruction(target, content) => Event::Instruction {
                target: self.push(target),
                content: self.push(content),
            },
            Data::Doctype(name, public, system) => Event::Doctype {
                name: self.push(name),
                public: self.push(public),
                system: self.push(system),
            },
        };
        self.events.push(event);
    }
}

impl TreeSink for Tree {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        self
    }

    fn parse_error(&self, message: Cow<'static, str>) {
        let mut error = self.error.borrow_mut();
        if error.is_none() {
            *error = Some((message.into_owned(), self.line.get()));
        }
    }

    fn set_current_line(&self, line: u64) {
        self.line.set(line);
    }

    fn get_document(&self) -> Handle {
        self.nameless(DOCUMENT)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let name = Rc::new(name);
        let template = if flags.template {
            self.add(Data::Root)
        } else {
            NONE
        };
        let index = self.add(Data::Element {
            name: Rc::clone(&name),
            attributes,
            template,
            is_integration_point: flags.mathml_annotation_xml_integration_point,
        });
        Handle { index, name }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        let index = self.add(Data::Comment(text));
        self.nameless(index)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        let index = self.add(Data::Instruction(target, data));
        self.nameless(index)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.insert(child, parent.index, NONE);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = self.nodes.borrow()[element.index].parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child)
        } else {
            self.append(previous, child)
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        let index = self.add(Data::Doctype(name, public, system));
        self.link(index, DOCUMENT, NONE);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        let index = match &self.nodes.borrow()[target.index].data {
            Data::Element { template, .. } if *template != NONE => *template,
            _ => target.index,
        };
        self.nameless(index)
    }

    fn same_node(&self, left: &Handle, right: &Handle) -> bool {
        left.index == right.index
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(node) = &child {
            self.unlink(node.index);
        }
        let parent = self.nodes.borrow()[sibling.index].parent;
        if parent != NONE {
            self.insert(child, parent, sibling.index);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, others: Vec<Attribute>) {
        if let Data::Element { attributes, .. } = &mut self.nodes.borrow_mut()[target.index].data {
            for other in others {
                if !attributes
                    .iter()
                    .any(|attribute| attribute.name == other.name)
                {
                    attributes.push(other);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.unlink(target.index);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        loop {
            let child = self.nodes.borrow()[node.index].first;
            if child == NONE {
                return;
            }
            self.unlink(child);
            self.link(child, new_parent.index, NONE);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        matches!(
            self.nodes.borrow()[handle.index].data,
            Data::Element {
                is_integration_point: true,
                ..
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options<'static> {
        Options {
            context: None,
            depth_max: 500,
            is_strict: false,
        }
    }

    fn part(text: &str) -> String {
        let context = Some("body");
        let tape = read(
            text,
            &Options {
                context,
                ..options()
            },
        );
        super::super::tests::shown(&tape.expect("is read"))
    }

    #[test]
    fn a_page_has_all_that_belongs_to_it() {
        let tape = read("<!doctype html><title>a</title><p class=x>b", &options());
        assert_eq!(
            super::super::tests::shown(&tape.expect("is read")),
            "<!html>(html(head(title a))(body(p[class=x] b)))"
        );
    }

    #[test]
    fn parts_are_read_as_browsers_do() {
        assert_eq!(part("<p>a<p>b"), "(p a)(p b)");
        assert_eq!(part("<b><i>a</b>c</i>"), "(b(i a))(i c)");
        assert_eq!(part("<table>x<tr><td>y"), " x(table(tbody(tr(td y))))");
        assert_eq!(part("a&amp;b&lt&copy;<!--c-->"), " a&b<©{c}");
        assert_eq!(part("<template><td>a</template>b"), "(template(td a)) b");
        assert_eq!(
            part("<svg viewbox=0><a xlink:href=#x /></svg>"),
            "(svg[viewBox=0](a[xlink:href=#x]))"
        );
        assert_eq!(part("<script>a<b</script>"), "(script a<b)");
        assert_eq!(part(""), "");
    }

    #[test]
    fn what_multiplies_is_refused() {
        let fault = |text: &str| match read(text, &options()) {
            Ok(_) => panic!("was read"),
            Err(fault) => fault.message,
        };
        assert!(fault(&"<div>".repeat(100_000)).contains("deep"));
        let bold: String = (0..400).map(|index| format!("<b id={index}>")).collect();
        let text = format!("<p>{bold}{}", "<p>x".repeat(10_000));
        assert!(fault(&text).contains("repeated"));
        let attributes: String = (0..200_000).map(|index| format!(" a{index}")).collect();
        assert!(fault(&format!("<p{attributes}>")).contains("attributes"));
    }

    #[test]
    fn the_standard_counts_if_wanted() {
        let strict = Options {
            is_strict: true,
            ..options()
        };
        let fault = read("<!doctype html>\n<p>\n</b>", &strict).expect_err("is wrong");
        assert_eq!(fault.offset, 20);
        assert!(read("<!doctype html><title>a</title><p>b", &strict).is_ok());
    }
}

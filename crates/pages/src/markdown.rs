//! Renders one page from Markdown to HTML, and collects its links, anchors, headings and text for
//! the search.
//!
//! Targets of links are not known yet: the HTML has numbered marks in their places, between control
//! characters that no page has. Nothing outside of the page is read.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::anchor::Anchors;
use crate::{escaped, highlight};

/// A page as HTML, its links not made yet.
#[derive(Default)]
pub(crate) struct Rendered {
    /// The first heading as text.
    pub title: String,
    /// Between `\u{1}` and `\u{2}` stand numbers of `links`, in place of the link's target.
    pub html: String,
    /// Targets of links and pictures as they are written.
    pub links: Vec<Link>,
    pub headings: Vec<Heading>,
    /// Every anchor that links may name.
    pub anchors: Vec<String>,
    /// The sections that a search finds.
    pub sections: Vec<Section>,
}

pub(crate) struct Link {
    pub target: String,
    pub is_picture: bool,
    /// The target that replaces the mark, once it is known; nothing for a link that goes.
    pub resolved: Option<String>,
}

/// A heading of the second or third level.
pub(crate) struct Heading {
    pub level: u8,
    pub html: String,
    pub anchor: String,
}

/// The text below a heading.
pub(crate) struct Section {
    pub title: String,
    pub anchor: String,
    pub text: String,
}

/// Marks around the number of a link.
pub(crate) const LINK_START: char = '\u{1}';
pub(crate) const LINK_END: char = '\u{2}';

/// Renders a page. In a reference the headings of the third level document names, which get anchors.
pub(crate) fn render(markdown: &str, is_reference: bool) -> Rendered {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Control characters mark links below.
    let markdown = markdown.replace([LINK_START, LINK_END], " ");
    let mut writer = Writer {
        is_reference,
        ..Writer::default()
    };
    let mut events: Vec<Event> = Vec::new();
    for event in Parser::new_ext(&markdown, options) {
        writer.event(event, &mut events);
    }
    pulldown_cmark::html::push_html(&mut writer.page.html, events.into_iter());
    writer.page
}

#[derive(Default)]
struct Writer {
    is_reference: bool,
    page: Rendered,
    anchors: Anchors,
    /// The heading that is open: its text, its HTML, and the code spans in it.
    heading: Option<(HeadingLevel, String, String, Vec<String>)>,
    /// The block of code that is open: its language and text.
    code: Option<(String, String)>,
    /// The picture that is open: its mark, and the text in its place.
    picture: Option<(String, String)>,
    links: usize,
}

impl Writer {
    fn event<'e>(&mut self, event: Event<'e>, events: &mut Vec<Event<'e>>) {
        if let Some((_, code)) = &mut self.code
            && let Event::Text(text) = &event
        {
            code.push_str(text);
            return;
        }
        if let Some((mark, text)) = &mut self.picture {
            match event {
                Event::Text(part) | Event::Code(part) => text.push_str(&part),
                Event::End(TagEnd::Image) => {
                    let html = format!("<img src=\"{mark}\" alt=\"{}\">", escaped(text));
                    events.push(Event::InlineHtml(html.into()));
                    self.picture = None;
                }
                _ => {}
            }
            return;
        }
        if self.heading.is_some() && !matches!(event, Event::End(TagEnd::Heading(_))) {
            self.in_heading(&event);
            return;
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.heading = Some((level, String::new(), String::new(), Vec::new()));
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = self.heading.take() {
                    events.push(Event::Html(self.end_heading(heading).into()));
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(word) => word.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((info, code)) = self.code.take() {
                    let mut words = info.split(' ');
                    let language = words.next().unwrap_or_default();
                    let file = words.next().filter(|word| !word.is_empty());
                    let caption =
                        file.map(|file| format!("<figcaption>{}</figcaption>", escaped(file)));
                    let html = highlight::block(&code, language);
                    events.push(Event::Html(
                        format!(
                            "<figure>{}<pre tabindex=\"0\"><code>{html}</code></pre></figure>\n",
                            caption.unwrap_or_default()
                        )
                        .into(),
                    ));
                    self.add_text(&code);
                }
            }
            Event::Start(Tag::Table(alignments)) => {
                events.push(Event::Html("<div class=\"table\">".into()));
                events.push(Event::Start(Tag::Table(alignments)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>\n".into()));
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let mark = self.link(&dest_url, false);
                events.push(Event::InlineHtml(format!("<a href=\"{mark}\">").into()));
            }
            Event::End(TagEnd::Link) => events.push(Event::InlineHtml("</a>".into())),
            Event::Start(Tag::Image { dest_url, .. }) => {
                let mark = self.link(&dest_url, true);
                self.picture = Some((mark, String::new()));
            }
            Event::Html(html) | Event::InlineHtml(html) if html.trim().starts_with("<!--") => {}
            other => {
                if let Event::Text(text) | Event::Code(text) = &other {
                    self.add_text(text);
                }
                if matches!(other, Event::SoftBreak | Event::End(_)) {
                    self.add_text(" ");
                }
                events.push(other);
            }
        }
    }

    fn in_heading(&mut self, event: &Event) {
        let Some((_, text, html, codes)) = &mut self.heading else {
            return;
        };
        match event {
            Event::Text(part) => {
                text.push_str(part);
                html.push_str(&escaped(part));
            }
            Event::Code(part) => {
                text.push_str(part);
                codes.push(part.to_string());
                html.push_str(&format!("<code>{}</code>", escaped(part)));
            }
            _ => {}
        }
    }

    fn end_heading(&mut self, heading: (HeadingLevel, String, String, Vec<String>)) -> String {
        let (level, text, mut html, codes) = heading;
        let anchor = self.anchors.heading(&text);
        self.page.anchors.push(anchor.clone());
        if level == HeadingLevel::H1 && self.page.title.is_empty() {
            self.page.title.clone_from(&text);
        }
        let mut found_by = anchor.clone();
        let mut title = text.clone();
        let mut names = String::new();
        let is_definition = self.is_reference && level == HeadingLevel::H3 && !codes.is_empty();
        if is_definition {
            let lines: Vec<String> = codes.iter().map(|code| call(code)).collect();
            html = lines.join("");
            let mut known: Vec<&str> = Vec::new();
            for code in &codes {
                let name = used_name(code);
                if known.contains(&name) {
                    continue;
                }
                known.push(name);
                if let Some(anchor) = self.anchors.name(name) {
                    names.push_str(&format!("<span id=\"{anchor}\"></span>"));
                    if known.len() == 1 {
                        found_by.clone_from(&anchor);
                    }
                    self.page.anchors.push(anchor);
                }
            }
            title = known.join(" ");
        }
        self.page.sections.push(Section {
            title: title.clone(),
            anchor: found_by.clone(),
            text: String::new(),
        });
        let number = level as u8;
        if (2..=3).contains(&number) {
            let shown = if is_definition {
                format!("<code>{}</code>", escaped(&title))
            } else {
                html.clone()
            };
            self.page.headings.push(Heading {
                level: number,
                html: shown,
                anchor: found_by.clone(),
            });
        }
        let class = if is_definition {
            " class=\"definition\""
        } else {
            ""
        };
        let link = match number {
            1 => String::new(),
            _ => format!(
                "<a class=\"anchor\" href=\"#{found_by}\" aria-label=\"Link to this\">#</a>"
            ),
        };
        format!("<h{number} id=\"{anchor}\"{class}>{names}{html}{link}</h{number}>\n")
    }

    /// Notes a link; gives its mark.
    fn link(&mut self, target: &str, is_picture: bool) -> String {
        let number = self.links;
        self.links += 1;
        self.page.links.push(Link {
            target: target.to_owned(),
            is_picture,
            resolved: None,
        });
        format!("{LINK_START}{number}{LINK_END}")
    }

    fn add_text(&mut self, text: &str) {
        if let Some(section) = self.page.sections.last_mut() {
            section.text.push_str(text);
        }
    }
}

/// A use such as `(name parameter)`, its name standing out.
fn call(code: &str) -> String {
    let name = used_name(code);
    let after = code.find(name).map_or(0, |at| at + name.len());
    format!(
        "<code>{}<b>{}</b>{}</code>",
        escaped(&code[..after - name.len()]),
        escaped(name),
        escaped(&code[after..])
    )
}

/// The name in a use.
fn used_name(code: &str) -> &str {
    let inner = code.strip_prefix('(').unwrap_or(code);
    let end = inner.find([' ', ')']).unwrap_or(inner.len());
    &inner[..end]
}

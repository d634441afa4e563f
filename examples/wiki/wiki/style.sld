;;; (wiki style): the stylesheet, one text without anything from elsewhere.
;;;
;;; One column on a phone, two where there is room for them; light or dark as the reader's system
;;; has it. Colours are named once, and each pair of them that text is shown in has a contrast of at
;;; least 4.5 to 1.

(define-library (wiki style)
  (export stylesheet)
  (import (canny base))
  (begin

    (define stylesheet "
:root {
  color-scheme: light dark;
  --paper: #f8f5ee; --sheet: #fffdf8; --ink: #25221d; --soft: #665f54; --line: #e3dccd;
    --edge: #8d8474;
  --accent: #22604d; --on-accent: #fffdf8; --tint: #e9f0ea; --wanted: #a33a26; --mark: #fbe7a6;
  --old: #fbe9e4; --old-word: #f2c3b5; --new: #e5f1e4; --new-word: #b9dcb8; --code: #f1ecdf;
  --serif: 'Iowan Old Style', 'Palatino Linotype', Palatino, P052, 'URW Palladio L',
    'Book Antiqua', Georgia, serif;
  --sans: Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
  --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171614; --sheet: #1f1d1a; --ink: #e9e3d6; --soft: #a89f90; --line: #37332d;
      --edge: #7d7568;
    --accent: #8ecbb1; --on-accent: #14211b; --tint: #23312b; --wanted: #f0a08a; --mark: #6b5514;
    --old: #3a2420; --old-word: #6d3428; --new: #1f3024; --new-word: #2f5b3a; --code: #2a2722;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 400 1rem/1.5 var(--sans);
    overflow-wrap: anywhere; min-height: 100vh; display: flex; flex-direction: column; }
a { color: var(--accent); text-decoration-thickness: .06em; text-underline-offset: .18em; }
a:hover { text-decoration-thickness: .12em; }
.missing { color: var(--wanted); text-decoration-style: dotted; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
    white-space: nowrap; }
.skip { position: absolute; left: -100vw; background: var(--sheet); padding: .75rem 1rem;
    z-index: 1; }
.skip:focus { left: .5rem; top: .5rem; }
h1, h2, h3, h4 { font-family: var(--serif); font-weight: 600; line-height: 1.2;
    text-wrap: balance; }
ul { padding: 0; list-style: none; }
.fine, .who, time { color: var(--soft); font-size: .875rem; }
.fine a { color: inherit; }

.top { border-bottom: 1px solid var(--line); background: var(--sheet); }
.bar { max-width: 65.5rem; margin: 0 auto; padding: .75rem 1.25rem; display: flex;
    flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; }
.brand { display: flex; align-items: center; gap: .625rem; font: 600 1.25rem/1.2 var(--serif);
    color: inherit; text-decoration: none; min-width: 0; }
.brand img { flex: none; border-radius: 7px; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.125rem; margin: 0; align-items: center; }
.bar nav a, .bar nav .plain, footer a { color: var(--soft); text-decoration: none;
    font-size: .9375rem; display: inline-block; padding: .375rem 0; }
.bar nav a:hover, .bar nav .plain:hover, footer a:hover { color: var(--ink);
    text-decoration: underline; }
.account { margin-left: auto; }
.search { display: flex; flex: 1 1 12rem; max-width: 22rem; }
.search input { border-radius: 6px 0 0 6px; border-right: 0; padding: .375rem .75rem;
    background: var(--paper); }
.search button { flex: none; overflow-wrap: normal; border-radius: 0 6px 6px 0;
    padding: .375rem .75rem; background: var(--paper); color: var(--soft);
    border-color: var(--line); font-weight: 400; }
.search button:hover { color: var(--ink); background: var(--tint); }

.columns { width: 100%; max-width: 65.5rem; margin: 0 auto; padding: 1.25rem 1.25rem 3rem;
    flex: 1; }
main { max-width: 44rem; margin: 0 auto; min-width: 0; }
main.wide { max-width: 63rem; }
.tabs { border-bottom: 1px solid var(--line); }
.tabs ul { gap: 1.5rem; }
.tabs a { display: block; padding: .5rem 0; color: var(--soft); text-decoration: none;
    border-bottom: 2px solid transparent; margin-bottom: -1px; }
.tabs a:hover { color: var(--ink); }
.tabs [aria-current] { color: var(--ink); border-color: var(--accent); font-weight: 600; }
.page-head h1 { font-size: clamp(1.875rem, 1.5rem + 1.6vw, 2.625rem); letter-spacing: -.01em;
    margin: 1.5rem 0 .25rem; }
.page-head .fine { margin: 0; }
.page-head { margin-bottom: 1.25rem; }

.text { font: 1.125rem/1.65 var(--serif); hanging-punctuation: first; }
.text > :first-child { margin-top: 0; }
.text h2, .text h3, .text h4 { margin: 1.75em 0 .5em; }
.text h2 { font-size: 1.5rem; }
.text h3 { font-size: 1.25rem; }
.text h4 { font-size: 1.0625rem; }
.text p, .text ul, .text ol, .text blockquote, .text pre, .text .table { margin: 0 0 1em; }
.text ul, .text ol { padding-left: 1.5em; }
.text ul { list-style: disc; }
.text li { margin: .25em 0; }
.text li > ul, .text li > ol { margin: .25em 0; }
.text li::marker { color: var(--soft); }
.text .task { list-style: none; margin-left: -1.4em; }
.text .task.done { color: var(--soft); }
.text blockquote { border-left: 3px solid var(--accent); padding: .125em 0 .125em 1.125em;
    color: var(--soft); font-style: italic; }
.text blockquote > :last-child { margin-bottom: 0; }
.text hr { border: 0; text-align: center; margin: 2em 0; }
.text hr::before { content: '∗  ∗  ∗'; color: var(--soft); white-space: pre; }
.text img { max-width: 100%; height: auto; border-radius: 6px; vertical-align: middle; }
.external::after { content: ' ↗'; font-size: .75em; font-family: var(--sans); }
code, pre, textarea { font-family: var(--mono); font-size: .875em; }
code { background: var(--code); border-radius: 4px; padding: .1em .35em; }
pre { background: var(--code); border-radius: 8px; padding: .875rem 1rem; overflow-x: auto;
    line-height: 1.5; font-size: .875rem; }
pre code { background: none; padding: 0; font-size: inherit; }
pre.source { white-space: pre-wrap; }
.table { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; font-family: var(--sans); font-size: .9375rem; }
th, td { text-align: left; vertical-align: top; padding: .4375rem .875rem .4375rem 0;
    border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--line); }

article > .fine { margin-top: 2.5rem; padding-top: .75rem; border-top: 1px solid var(--line); }
.administration { display: flex; flex-wrap: wrap; gap: .75rem; }
aside { font-size: .9375rem; max-width: 44rem; margin: 2.5rem auto 0; }
aside h2 { font: 600 .8125rem/1.4 var(--sans); letter-spacing: .04em; text-transform: uppercase;
    color: var(--soft); margin: 0 0 .5rem; }
aside nav { margin-bottom: 1.75rem; }
aside ul { display: block; }
aside li { margin: .375rem 0; }
aside .level-2 { padding-left: .875rem; }
aside .level-3 { padding-left: 1.75rem; }
aside .contents a { color: var(--ink); text-decoration: none; }
aside .contents a:hover { text-decoration: underline; }

label { display: block; font-weight: 600; font-size: .9375rem; margin: 1.125rem 0 .375rem; }
label .fine { font-weight: 400; }
input, textarea, button { font: inherit; color: inherit; }
input, textarea { width: 100%; background: var(--sheet); border: 1px solid var(--edge);
    border-radius: 6px; padding: .5625rem .75rem; font-size: 1rem; }
.search input { border-color: var(--line); }
::file-selector-button { font: inherit; font-size: .875rem; color: var(--accent);
    background: var(--tint); border: 0; border-radius: 4px; padding: .25rem .75rem;
    margin-right: .75rem; cursor: pointer; }
textarea { font-family: var(--mono); font-size: max(1rem, .9375rem); line-height: 1.55;
    resize: vertical; min-height: 16rem; }
input:focus, textarea:focus { outline: 3px solid var(--accent); outline-offset: -1px; }
input[type=radio], input[type=checkbox] { width: 1.125rem; height: 1.125rem;
    accent-color: var(--accent); margin: 0; flex: none; }
.check { display: flex; align-items: center; gap: .625rem; font-weight: 400; }
button, .button { overflow-wrap: break-word; display: inline-block; background: var(--accent);
    color: var(--on-accent); border: 1px solid var(--accent); border-radius: 6px;
    padding: .5rem 1.125rem; font-weight: 600; font-size: .9375rem; line-height: 1.5;
    text-decoration: none; cursor: pointer; }
button:hover, .button:hover { filter: brightness(1.12); }
.quiet { background: transparent; color: var(--accent); border-color: var(--line); }
.quiet:hover { background: var(--tint); filter: none; }
.plain { background: none; border-color: transparent; color: var(--soft); font-weight: 400;
    padding-left: 0; padding-right: 0; }
.plain:hover { color: var(--ink); text-decoration: underline; filter: none; }
.danger { background: var(--wanted); border-color: var(--wanted); color: var(--sheet); }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: 1.5rem 0; }
.narrow { max-width: 26rem; }
.narrow h2 { font-size: 1.25rem; margin: 2rem 0 0; }
.writing .fine { margin: .5rem 0 0; }
.notice, .problem { border-radius: 8px; padding: .75rem 1rem; margin: 1rem 0;
    background: var(--tint); border-left: 4px solid var(--accent); }
.problem { background: var(--old); border-left-color: var(--wanted); }
.notice p, .problem p { margin: .25rem 0; }
.notice form { margin-top: .75rem; }
.notice time, .problem time { font-size: inherit; color: inherit; }
.preview { background: var(--sheet); border: 1px solid var(--line); border-radius: 10px;
    padding: 1rem 1.25rem; margin: 1rem 0 1.5rem; }
.preview > h2 { font: 600 .8125rem/1.4 var(--sans); letter-spacing: .04em;
    text-transform: uppercase; color: var(--soft); margin: 0 0 1rem; }
details { margin: 1.5rem 0; }
summary { cursor: pointer; font-weight: 600; }

.changes li, .history li, .entries li { border-bottom: 1px solid var(--line); padding: .6875rem 0; }
main > h2 { font-size: 1.125rem; margin: 2rem 0 .25rem; }
.changes { margin: 0; }
.changes li { display: flex; gap: 1rem; align-items: baseline; }
.changes time { flex: none; font-variant-numeric: tabular-nums; }
.what { display: flex; flex-wrap: wrap; gap: .125rem .75rem; align-items: baseline; min-width: 0; }
.what > * { min-width: 0; }
.what > a:first-child, .entries > li > a:first-child { font: 600 1.0625rem/1.4 var(--serif); }
.comment { color: var(--soft); font-style: italic; font-size: .9375rem; }
.history { padding: 0; margin: 0; list-style: none; }
.history li { display: flex; gap: 1rem; align-items: center; }
.choices { display: flex; gap: .75rem; flex: none; }
.choice { display: flex; align-items: center; gap: .375rem; margin: 0; font-weight: 400;
    font-size: .8125rem; color: var(--soft); }
.history time { font-size: 1rem; color: inherit; }
.what > .fine { flex-basis: auto; }
.entries li > .fine { display: block; }
.results p { margin: .25rem 0 0; color: var(--soft); font-size: .9375rem; }
mark { background: var(--mark); color: var(--ink); border-radius: 3px; padding: 0 .15em; }
.index { columns: 14rem; column-gap: 2rem; }
.index section { break-inside: avoid; margin-bottom: 1.25rem; }
.index h2 { font-size: 1.0625rem; color: var(--soft); margin: 0 0 .25rem;
    border-bottom: 1px solid var(--line); }
.index ul { margin: 0; }
.index li { padding: .1875rem 0; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr));
    gap: 1.25rem; }
.pictures img { width: 100%; aspect-ratio: 4 / 3; object-fit: cover; border-radius: 8px;
    background: var(--code); display: block; }
.pictures .what { margin-top: .5rem; }
.upload { background: var(--sheet); border: 1px solid var(--line); border-radius: 10px;
    padding: 0 1.25rem 1.25rem; margin-bottom: 1.5rem; }
.upload input { margin-bottom: 1rem; }
.examples section { border-top: 1px solid var(--line); padding: 1rem 0; display: grid;
    gap: .75rem 1.5rem; }
.examples section > h2 { font-size: 1.125rem; margin: 0; }
.examples pre { margin: 0; align-self: start; }
.examples .text > :last-child { margin-bottom: 0; }

.difference { border: 1px solid var(--line); border-radius: 8px; background: var(--sheet);
    font: .875rem/1.55 var(--mono); padding: .25rem 0; margin: 1rem 0; }
.line { display: flex; white-space: pre-wrap; padding: .0625rem .75rem; min-height: 1.6em; }
.line > span { min-width: 0; overflow-wrap: anywhere; }
.line .mark { flex: 0 0 1.5em; color: var(--soft); user-select: none; }
.old { background: var(--old); }
.new { background: var(--new); }
.difference del, .difference ins { text-decoration: none; border-radius: 3px; }
.difference del { background: var(--old-word); text-decoration: line-through;
    text-decoration-thickness: .06em; }
.difference ins { background: var(--new-word); text-decoration: underline;
    text-decoration-thickness: .06em; text-underline-offset: .2em; }
.hidden { color: var(--soft); background: var(--paper); justify-content: center; }

.error { padding: 10vh 0; }
.error .status { font: 600 4.5rem/1 var(--serif); color: var(--accent); margin: 0; }
.error h1 { margin: .5rem 0; }
footer { border-top: 1px solid var(--line); padding: .75rem 1.25rem 1.5rem; }
footer ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 auto; max-width: 63rem; }

@media (min-width: 64rem) {
  main { margin: 0; }
  .with-aside { display: grid; grid-template-columns: minmax(0, 44rem) 15rem; gap: 4rem; }
  .with-aside main { width: 100%; }
  .with-aside aside { margin: 5.25rem 0 0; }
  .examples section { grid-template-columns: 9rem 1fr 1fr; }
}
@media (max-width: 40rem) {
  .bar, .columns, footer { padding-left: 1rem; padding-right: 1rem; }
  .bar { padding-bottom: .25rem; gap: .25rem 1rem; }
  .search { flex-basis: 100%; max-width: none; order: 1; }
  .bar nav { order: 2; }
  .bar .account { order: 0; }
  .bar .account ul { gap: 0 .875rem; }
  .bar nav a, .bar nav .plain { padding: .5rem 0; }
  .history li { flex-direction: column; align-items: flex-start; gap: .25rem; }
  .line { padding: .0625rem .5rem; }
  .line .mark { flex-basis: 1.125em; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media print {
  .top, .tabs, footer, aside, .administration { display: none; }
  body { background: none; }
}
")))

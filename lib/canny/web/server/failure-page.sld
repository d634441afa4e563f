;;; (canny web server failure-page): the style and the script of a page whose frames can be looked
;;; into. `(canny web server failures)` makes the page, and answers the requests of the script.
;;;
;;; The script adds to a page that shows everything without it. Frames and values are elements
;;; `details`, which are filled when they are opened for the first time.

(define-library (canny web server failure-page)
  (export failure-style failure-script)
  (import (canny syntax))
  (begin

    (define failure-style "
details.frame>summary{cursor:pointer;padding:.1em 0}summary:focus-visible,textarea:focus-visible,
button:focus-visible{outline:2px solid #36c;outline-offset:1px}.value{margin:.15em 0;
overflow-wrap:anywhere}summary.value{cursor:pointer}.parts,.results{margin-left:1.5em}
.type{color:#777;font-size:.85em}.bad{color:#a00}.evaluate{display:flex;gap:.5em;margin:.6em 0}
textarea,input,button{font:inherit;color:inherit;background:transparent;border:1px solid #999;
border-radius:3px;padding:.2em .4em}textarea{flex:1;font-family:monospace;resize:vertical}
button{cursor:pointer}.result{border-left:3px solid #999;padding-left:.6em;margin:.6em 0}
.result pre{margin:.2em 0;padding:.3em .6em}.jump input{width:9em}
@media(prefers-color-scheme:dark){.bad{color:#f88}.type{color:#999}summary:focus-visible,
textarea:focus-visible,button:focus-visible{outline-color:#9bf}}
")

    (define failure-script "
(function () {
  'use strict';
  const main = document.getElementById('failure');
  const number = Number(main.dataset.failure);
  const pageSize = 50;

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  async function ask(action, more) {
    const answer = await fetch('/.canny/failure', {
      method: 'POST', cache: 'no-store', credentials: 'omit',
      headers: {'Content-Type': 'application/json', 'Canny-Token': main.dataset.token},
      body: JSON.stringify({action: action, failure: number, ...more})
    });
    let data = {};
    try { data = await answer.json(); } catch (error) { data.error = answer.statusText; }
    if (!answer.ok) throw new Error(data.error || answer.statusText);
    return data;
  }

  // Does work that asks the server; says below the place what has failed.
  async function trying(place, work) {
    try {
      await work();
    } catch (error) {
      place.append(element('div', {class: 'bad'}, error.message));
    }
  }

  function button(text, action) {
    const made = element('button', {type: 'button'}, text);
    made.addEventListener('click', action);
    return made;
  }

  // Name and value; one with parts can be opened.
  function row(name, described) {
    const label = name === null ? [] : [element('code', {}, name), ' = '];
    if (described.gone) {
      return element('div', {class: 'value'}, ...label, element('i', {}, described.gone));
    }
    const text = element('code', {class: 'text'}, described.text);
    const type = described.type
      ? [' ', element('span', {class: 'type'}, described.type + size(described))] : [];
    if (described.value === null || described.value === undefined) {
      return element('div', {class: 'value'}, ...label, text, ...type);
    }
    const content = element('div', {class: 'parts'});
    const details = element('details', {class: 'value'},
      element('summary', {}, ...label, text, ...type), content);
    let begun = false;
    details.addEventListener('toggle', function () {
      if (details.open && !begun) {
        begun = true;
        trying(content, () => fill(content, described));
      }
    });
    return details;
  }

  function size(described) {
    return described.indexed > 0 ? ' of ' + described.indexed : '';
  }

  async function fill(content, described) {
    const value = described.value;
    if (described.named + described.indexed === 0) {
      const whole = await ask('text', {value: value});
      content.append(element('pre', {}, whole.text));
      return;
    }
    if (described.named > 0) await page(content, value, true, 0, described.named);
    if (described.indexed > 0) {
      if (described.indexed > pageSize) content.append(jump(content, described));
      await page(content, value, false, 0, described.indexed);
    }
  }

  // Parts from one on, and a button for the next ones.
  async function page(content, value, fields, first, all) {
    const got = await ask('parts', {value: value, fields: fields, first: first, count: pageSize});
    for (const part of got.parts) content.append(row(part.name, part));
    const next = first + got.parts.length;
    if (got.parts.length > 0 && next < all) {
      const more = button('more, from ' + next + ' of ' + all, function () {
        const old = content.lastChild;
        more.remove();
        trying(content, async function () {
          await page(content, value, fields, next, all);
          const added = old.nextSibling && old.nextSibling.querySelector('summary');
          if (added) added.focus();
        });
      });
      content.append(more);
    }
  }

  // A field for the number of the first element that is shown.
  function jump(content, described) {
    const field = element('input', {type: 'number', min: 0, max: described.indexed - 1, value: 0});
    const form = element('form', {class: 'jump'},
      element('label', {}, 'from element ', field), ' ', element('button', {}, 'show'));
    form.addEventListener('submit', function (event) {
      event.preventDefault();
      while (form.nextSibling) form.nextSibling.remove();
      const first = Math.max(0, Math.min(described.indexed - 1, Number(field.value) || 0));
      trying(content, () => page(content, described.value, false, first, described.indexed));
    });
    return form;
  }

  async function fillVariables(place, frame) {
    const got = await ask('variables', {frame: frame});
    const rows = got.variables.map((variable) => row(variable.name, variable));
    place.replaceChildren(...(rows.length > 0 ? rows : [element('i', {}, 'no variables')]));
  }

  const history = [];

  // The field for an expression, and what came of it.
  function evaluator(place, frame) {
    const field = element('textarea', {rows: 1, spellcheck: 'false', autocapitalize: 'off',
      placeholder: '(expression in this frame)', 'aria-label': 'Expression in this frame'});
    const form = element('form', {class: 'evaluate'}, field,
      element('button', {}, 'Evaluate'));
    const results = element('div', {class: 'results', 'aria-live': 'polite'});
    let at = 0;
    const grow = function () { field.rows = Math.min(12, field.value.split('\\n').length); };
    field.addEventListener('input', grow);
    const older = function (event, step) {
      const single = !field.value.includes('\\n');
      const next = at + step;
      if (!single || next < 0 || next > history.length) return;
      event.preventDefault();
      at = next;
      field.value = history[at] || '';
    };
    field.addEventListener('keydown', function (event) {
      if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === 'ArrowUp') older(event, -1);
      else if (event.key === 'ArrowDown') older(event, 1);
      else if (event.key === 'Escape') field.closest('details').querySelector('summary').focus();
    });
    field.addEventListener('focus', function () { at = history.length; });
    form.addEventListener('submit', function (event) {
      event.preventDefault();
      const text = field.value;
      if (text.trim() === '') return;
      history.push(text);
      at = history.length;
      field.value = '';
      grow();
      const result = element('div', {class: 'result'}, element('pre', {}, text));
      const busy = element('i', {}, 'running\\u2026');
      result.append(busy);
      results.prepend(result);
      trying(result, async function () {
        try {
          const got = await ask('evaluate', {frame: frame, expression: text});
          show(result, got);
          // What was opened stays open, unless it is no longer true.
          const isOpen = place.querySelector('details[open]') !== null;
          if (!isOpen || got.assigned.length > 0) await fillVariables(place, frame);
        } finally {
          busy.remove();
        }
      });
    });
    return [form, results];
  }

  function show(result, got) {
    if (got.output) result.append(element('pre', {class: 'output'}, got.output));
    if (got.error) result.append(element('div', {class: 'bad'}, got.error));
    if (got.raised && got.raised.value !== null) result.append(row(null, got.raised));
    if (got.result) result.append(row(null, got.result));
    for (const one of got.assigned) {
      result.append(element('div', {class: 'type'}, one.name + ' ' + one.note));
    }
  }

  function prepare(details) {
    const frame = Number(details.dataset.frame);
    const place = details.querySelector('.variables');
    let begun = false;
    const open = function () {
      if (!details.open || begun) return;
      begun = true;
      details.append(...evaluator(place, frame));
      trying(place, () => fillVariables(place, frame));
    };
    details.addEventListener('toggle', open);
    open();
  }

  function frameItem(frame) {
    const lines = frame.source.map((line) =>
      element(line.line === frame.line ? 'b' : 'span', {}, line.line + '  ' + line.text + '\\n'));
    const source = lines.length > 0 ? [element('pre', {}, ...lines)] : [];
    const details = element('details', {class: 'frame', 'data-frame': frame.frame},
      element('summary', {}, element('code', {}, frame.title)), ...source,
      element('div', {class: 'variables'}));
    prepare(details);
    const callers = frame.callers.map((text) => element('div', {class: 'values'}, text));
    return element('li', {}, details, ...callers);
  }

  const list = document.getElementById('frames');
  const more = document.getElementById('more');
  if (more) {
    let next = Number(main.dataset.next);
    const load = button('more frames', () => trying(more, async function () {
      const got = await ask('frames', {first: next});
      const items = got.frames.map(frameItem);
      list.append(...items);
      if (items.length > 0) items[0].querySelector('summary').focus();
      next = got.next;
      if (next === null) more.remove();
    }));
    more.replaceChildren(load);
  }

  // The arrow keys go through all that can be opened, and open and close it.
  main.addEventListener('keydown', function (event) {
    const summary = event.target.closest('summary');
    if (event.key === '/' && !event.target.closest('textarea,input')) {
      const frame = (summary && summary.closest('details.frame[open]'))
        || main.querySelector('details.frame[open]');
      const field = frame && frame.querySelector('textarea');
      if (field) { event.preventDefault(); field.focus(); }
      return;
    }
    if (!summary) return;
    const details = summary.parentElement;
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      event.preventDefault();
      details.open = event.key === 'ArrowRight';
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const all = [...main.querySelectorAll('summary')].filter((one) => one.offsetParent);
      const to = all[all.indexOf(summary) + (event.key === 'ArrowDown' ? 1 : -1)];
      if (to) to.focus();
    }
  });
  main.append(element('p', {class: 'values'},
    'Keys: Tab and the arrows go through frames and values, / leads to the expression of a frame. ',
    'There Enter evaluates, Shift+Enter begins a line, the arrows bring older expressions back.'));
  document.querySelectorAll('details.frame').forEach(prepare);
})();
")))

// The dialog with the keys, what the words mean, and the licenses of what the page is made of.

import { useEffect, useRef } from "preact/hooks";
import { NOTICES } from "../notices";

const KEYS: [string, [string, string][]][] = [
  ["Everywhere", [
    ["1 … 7", "the views"], ["/", "search"], ["?", "this help"], ["← →", "the next tab, on the tabs"], ["Esc", "close, clear the search"],
  ]],
  ["Flame graph", [
    ["↑ ↓ ← →", "caller, heaviest callee, neighbours"], ["Enter, click", "zoom to the box"], ["Esc", "zoom out"],
    ["Backspace", "zoom to the caller"], ["+ −, wheel", "zoom"], ["a d, drag", "move"], ["0", "whole width"],
  ]],
  ["Timeline", [
    ["drag", "choose the time range of all views"], ["+ −, Ctrl and wheel", "zoom"], ["← →", "move"], ["0", "whole run"],
    ["Esc", "no range"],
  ]],
];

const WORDS: [string, string][] = [
  ["Self", "what the function itself took, without what it called"],
  ["Total", "with everything it called; once for each stack, however often the function is in it"],
  ["Tier", "how the code ran: interpreted, compiled, inlined into compiled code, or native code of the machine"],
  ["Runnable", "a task could have run, but no processor ran it yet"],
  ["Live", "not found dead by the collector until the end of the profile"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={onClose} onClick={(event) => event.target === dialog.current && onClose()}>
      <div class="help-body">
        <header><h2 id="help-title">Keys and words</h2><button type="button" class="quiet" onClick={onClose} aria-label="Close">✕</button></header>
        <div class="help-columns">
          {KEYS.map(([title, keys]) => (
            <section key={title}>
              <h3>{title}</h3>
              <dl>{keys.map(([key, effect]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{effect}</dd></div>)}</dl>
            </section>
          ))}
        </div>
        <section>
          <h3>Words</h3>
          <dl class="words">{WORDS.map(([word, meaning]) => <div key={word}><dt>{word}</dt><dd>{meaning}</dd></div>)}</dl>
        </section>
        <p class="muted">The address of the page holds the view and the filters: keep it as a bookmark. The profile stays in this browser.</p>
        <details><summary>Licenses</summary><pre>{NOTICES}</pre></details>
      </div>
    </dialog>
  );
}

// The page: what is shown follows from the fragment of the address.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { themeChoice } from "../../../report/page/src/theme";
import { type Series, type Tiles, ask, useAnswer } from "./api";
import { bytes, visible } from "./format";
import { MapView } from "./map";
import { ObjectView } from "./object";
import { Choice } from "./parts";
import { VIEWS, type View, change, fragment, useFragment } from "./state";
import { CompareView, DuplicatesView, Overview, QueryView, SuspectsView, TypesView, UnusedView } from "./views";

declare const __NOTICES__: string;

const TITLES: Record<View, string> = {
  overview: "Overview", types: "Types", map: "Map", query: "Query", duplicates: "Equal strings", unused: "Unused room",
  compare: "Comparison", suspects: "Suspects", object: "Object",
};
const TABS = VIEWS.filter((view) => view !== "object");
const KEYS: [string, string][] = [
  ["1 to 8", "a view"], ["/", "the field for a query or filter"], ["u", "up in the map, or to what keeps the object alive"],
  ["t", "light or dark"], ["?", "this help"],
];

const theme = themeChoice("canny-heap-theme");

function useKeys(act: (key: string) => boolean): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
        if (event.key === "Escape") target.blur();
        return;
      }
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

function App() {
  const state = useFragment();
  const series = useAnswer<Series>("series", {});
  const help = useRef<HTMLDialogElement>(null);
  const [notices, showNotices] = useState(false);
  const data = series.data;
  const last = data?.snapshots.length ?? 0;
  const snapshot = Math.min(Math.max(1, state.number("snapshot") ?? (data?.default || last)), Math.max(1, last));
  const { view } = state;
  useEffect(() => {
    if (data !== undefined) document.title = `${TITLES[view]}: ${data.program || "heap snapshots"}`;
  }, [view, data]);
  useEffect(() => scrollTo(0, 0), [view, state.get("id"), state.get("query"), snapshot]);
  useKeys((key) => {
    const tab = TABS[Number(key) - 1];
    if (tab !== undefined) location.hash = fragment(tab);
    else if (key === "/") {
      const field = document.querySelector<HTMLInputElement>("[data-focus]");
      if (field !== null) field.focus();
      else location.hash = fragment("query");
    } else if (key === "u" && (view === "map" || view === "object")) {
      const id = state.number("id") ?? 0;
      ask<Tiles>("tiles", { snapshot, id, depth: 0, count: 1 }).then(({ above }) => {
        const up = above[above.length - 2];
        if (up !== undefined) change({ id: up.id });
      }, () => {});
    } else if (key === "t") theme.switch();
    else if (key === "?") help.current?.showModal();
    else return false;
    return true;
  });
  if (series.error !== undefined) return <main><p class="problem" role="alert">{visible(series.error)}</p></main>;
  if (data === undefined) return <main><p class="muted" aria-busy="true">Opening the file …</p></main>;
  if (last === 0) return <main><p class="problem" role="alert">{visible(data.note ?? "The file has no snapshot.")}</p></main>;
  const props = { state, snapshot, series: data };
  const needsGraph = !["overview", "compare", "suspects"].includes(view) && !data.snapshots[snapshot - 1]!.graph;
  return <>
    <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector<HTMLElement>("main")?.focus(); }}>To the content</a>
    <header>
      <a class="brand" href={fragment("overview")}>Canny heap</a>
      <nav class="tabs" aria-label="Views">{TABS.map((one, index) => <a href={fragment(one)} aria-current={one === view ? "page" : undefined} title={`Key ${index + 1}`}>{TITLES[one]}</a>)}</nav>
      <div class="tools">
        {last > 1 && <Choice label="Snapshot" value={String(snapshot)} onChange={(value) => change({ snapshot: value, id: undefined, first: undefined, in: undefined, out: undefined, dom: undefined, ...(view === "object" ? { view: "overview" } : {}) })}
          options={data.snapshots.map((one) => [String(one.number), `${one.number}: ${bytes(one.bytes)}`])} />}
        <button type="button" onClick={theme.switch} aria-label="Light or dark">◐</button>
        <button type="button" onClick={() => help.current?.showModal()} aria-label="Help">?</button>
      </div>
    </header>
    <main id="main" tabIndex={-1}>
      {needsGraph ? <p class="muted">Snapshot {snapshot} has sums by type only, no objects.</p>
        : view === "overview" ? <Overview {...props} /> : view === "types" ? <TypesView {...props} /> : view === "map" ? <MapView {...props} />
        : view === "query" ? <QueryView {...props} /> : view === "duplicates" ? <DuplicatesView {...props} /> : view === "unused" ? <UnusedView {...props} />
        : view === "compare" ? <CompareView {...props} /> : view === "suspects" ? <SuspectsView {...props} /> : <ObjectView {...props} />}
    </main>
    <dialog ref={help} aria-label="Help">
      <h2>Keys</h2>
      <dl>{KEYS.map(([key, meaning]) => <div><dt><kbd>{key}</kbd></dt><dd>{meaning}</dd></div>)}</dl>
      <p><b>Bytes</b> are those of the object alone. <b>Retained</b> bytes would be free if nothing led to the object any more.</p>
      <form method="dialog"><button>Close</button> <button type="button" onClick={() => showNotices(!notices)}>Licences</button></form>
      {notices && <pre>{__NOTICES__}</pre>}
    </dialog>
  </>;
}

theme.start();
render(<App />, document.getElementById("root")!);

// The frame of the page: finding the profile, the heading with tabs, and what is said when something
// is wrong with the profile.

import { Component, render, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ProfileError } from "../data/profile";
import type { Meta } from "../engine";
import { Client } from "../worker";
import { VIEWS, VIEW_NAMES, change, readAddress, useAppState, START, type View } from "../state";
import { AllocationView } from "./allocationview";
import { SharedContext } from "./context";
import { DifferenceView } from "./differenceview";
import { Filters } from "./filters";
import { FlameView } from "./flameview";
import { count, size, visible } from "./format";
import { Help } from "./help";
import { SummaryView } from "./summaryview";
import { TableView } from "./tableview";
import { startTheme, switchTheme, useTheme } from "./theme";
import { TimelineView } from "./timelineview";
import { WaitsView } from "./waitsview";

const PANELS: Record<View, () => preact.JSX.Element> = {
  summary: SummaryView, flame: FlameView, timeline: TimelineView, table: TableView, allocation: AllocationView,
  waits: WaitsView, difference: DifferenceView,
};

const POLL_MS = 1000;
/** Polls that may fail in a row before the program counts as gone. */
const FAILURES_MAX = 4;

type Stage =
  | { at: "loading"; bytes: number; of: number | null }
  | { at: "open"; message: string | null }
  | { at: "shown" };

/** Takes the text out of the element, so that the page does not keep it. */
function embedded(id: string): string | null {
  const element = document.getElementById(id);
  if (element === null) return null;
  const text = element.textContent ?? "";
  element.remove();
  return text;
}

function App({ client }: { client: Client }) {
  const [stage, setStage] = useState<Stage>({ at: "loading", bytes: 0, of: null });
  const [meta, setMeta] = useState<Meta | null>(null);
  const [base, setBase] = useState<Meta | null>(null);
  const [message, setMessage] = useState<string | null>(null);
  const [live, setLive] = useState(false);
  const [gone, setGone] = useState(false);
  const [dragged, setDragged] = useState(false);
  const busy = useRef(false);

  const openFile = async (file: File, which: "main" | "base") => {
    if (busy.current) return;
    busy.current = true;
    setMessage(null);
    if (which === "main") setStage({ at: "loading", bytes: 0, of: file.size });
    try {
      const loaded = await client.load({ file }, which, (bytes) =>
        which === "main" && setStage({ at: "loading", bytes, of: file.size }));
      if (which === "main") {
        setLive(false);
        setMeta(loaded);
        setStage({ at: "shown" });
      } else {
        setBase(loaded);
        change({ view: "difference" });
      }
    } catch (error) {
      const text = `${file.name}: ${(error as Error).message}`;
      if (which === "main" && meta === null) setStage({ at: "open", message: text });
      else {
        if (which === "main") setStage({ at: "shown" });
        setMessage(text);
      }
    }
    busy.current = false;
  };

  const find = async () => {
    // The text is long: nothing may hold it once the worker has it.
    const source = { base64: embedded("canny-profile") ?? undefined };
    const inside = source.base64 !== undefined;
    const baseText = embedded("canny-profile-base");
    try {
      if (inside) {
        const bytes = source.base64!.length * 0.75;
        performance.mark("profile found");
        const loading = client.load(source, "main", (taken) => setStage({ at: "loading", bytes: taken, of: bytes }));
        source.base64 = undefined;
        setMeta(await loading);
      } else {
        const address = new URL("profile", location.href).href;
        const loaded = await client.load({ address }, "main", (taken) => setStage({ at: "loading", bytes: taken, of: null }));
        setMeta(loaded);
        setLive(!loaded.ended);
      }
      setStage({ at: "shown" });
    } catch (error) {
      const isProfile = inside || error instanceof ProfileError;
      setStage({ at: "open", message: isProfile ? (error as Error).message : null });
      return;
    }
    if (baseText !== null) {
      try {
        setBase(await client.load({ base64: baseText }, "base"));
      } catch (error) {
        setMessage(`The second profile: ${(error as Error).message}`);
      }
    }
  };
  useEffect(() => void find(), []);

  useEffect(() => {
    if (!live) return;
    let failures = 0;
    let timer = 0;
    const address = new URL("profile", location.href).href;
    const poll = async () => {
      try {
        const grown = await client.grow(address);
        failures = 0;
        if (grown !== null) {
          setMeta(grown);
          if (grown.ended) {
            setLive(false);
            return;
          }
        }
      } catch {
        failures += 1;
        if (failures >= FAILURES_MAX) {
          setGone(true);
          setLive(false);
          return;
        }
      }
      timer = setTimeout(poll, POLL_MS);
    };
    timer = setTimeout(poll, POLL_MS);
    return () => clearTimeout(timer);
  }, [live]);

  useEffect(() => {
    let depth = 0;
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
    };
    const enter = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      depth += 1;
      setDragged(true);
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setDragged(false);
    };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      depth = 0;
      setDragged(false);
      const file = event.dataTransfer?.files[0];
      if (file) void openFile(file, meta === null ? "main" : "base");
    };
    const events: [string, (event: never) => void][] = [["dragover", over], ["dragenter", enter], ["dragleave", leave], ["drop", drop]];
    for (const [name, listener] of events) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of events) removeEventListener(name, listener as EventListener);
    };
  }, [meta]);

  const shared = useMemo(
    () => (meta === null ? null : { client, meta, base, openBase: (file: File) => void openFile(file, "base") }),
    [meta, base]);

  useEffect(() => {
    document.title = meta === null ? "Canny profile" : `${visible(meta.header.program) || "profile"} – Canny profile`;
  }, [meta?.header.program]);

  return (
    <>
      {stage.at === "loading" && <Loading bytes={stage.bytes} of={stage.of} />}
      {stage.at === "open" && <Open message={stage.message} onFile={(file) => void openFile(file, "main")} />}
      {stage.at === "shown" && shared !== null && (
        <SharedContext.Provider value={shared}>
          <Shown meta={shared.meta} live={live} gone={gone} message={message} onFile={(file) => void openFile(file, "main")} onDismiss={() => setMessage(null)} />
        </SharedContext.Provider>
      )}
      {dragged && <div class="drop"><p>{meta === null ? "Drop the profile to open it" : "Drop an earlier profile to compare"}</p></div>}
    </>
  );
}

function Loading({ bytes, of }: { bytes: number; of: number | null }) {
  return (
    <main class="center" aria-busy="true">
      <Logo />
      <h1>Reading the profile</h1>
      <progress value={of === null ? undefined : Math.min(1, bytes / Math.max(1, of))} aria-label="Progress" />
      <p class="muted" role="status">{bytes > 0 ? size(bytes) : " "}</p>
    </main>
  );
}

function Open({ message, onFile }: { message: string | null; onFile: (file: File) => void }) {
  return (
    <main class="center">
      <Logo />
      <h1>{message === null ? "Open a profile" : "This profile cannot be shown"}</h1>
      {message !== null && <p class="problem" role="alert">{message}</p>}
      <p class="muted">Drop a profile of <code>canny profile</code> here, or choose its file. It is read in this browser and sent nowhere.</p>
      <label class="button primary">
        Choose a file
        <input type="file" class="sr-only" onChange={(event) => event.currentTarget.files?.[0] && onFile(event.currentTarget.files[0])} />
      </label>
      <ThemeButton />
    </main>
  );
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect x="2" y="5" width="28" height="6" rx="1.5" fill="var(--group-0)" />
      <rect x="2" y="13" width="17" height="6" rx="1.5" fill="var(--group-1)" />
      <rect x="21" y="13" width="9" height="6" rx="1.5" fill="var(--group-2)" />
      <rect x="2" y="21" width="8" height="6" rx="1.5" fill="var(--group-3)" />
      <rect x="12" y="21" width="7" height="6" rx="1.5" fill="var(--group-4)" />
    </svg>
  );
}

function ThemeButton() {
  const theme = useTheme();
  return (
    <button type="button" class="icon" onClick={switchTheme} aria-label={theme === "dark" ? "Light colours" : "Dark colours"} title={theme === "dark" ? "Light colours" : "Dark colours"}>
      <span aria-hidden="true">{theme === "dark" ? "☀" : "☾"}</span>
    </button>
  );
}

/** Shows what went wrong in a view instead of an empty page. */
class Guard extends Component<{ children: ComponentChildren }, { error: string | null }> {
  state = { error: null };
  componentDidCatch(error: Error) {
    this.setState({ error: error.message });
  }
  render() {
    return this.state.error === null ? this.props.children
      : <div class="nothing" role="alert"><h3>This view failed</h3><p>{this.state.error}</p></div>;
  }
}

function Shown({ meta, live, gone, message, onFile, onDismiss }: {
  meta: Meta; live: boolean; gone: boolean; message: string | null; onFile: (file: File) => void; onDismiss: () => void;
}) {
  const state = useAppState();
  const [help, setHelp] = useState(false);
  const tabs = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") setHelp(true);
      const index = "1234567".indexOf(event.key);
      if (index >= 0 && event.key !== "") change({ view: VIEWS[index]! });
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
  useEffect(() => {
    tabs.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [state.view]);
  const Panel = PANELS[state.view];
  const warnings: string[] = [];
  if (meta.incomplete !== null) warnings.push(meta.incomplete);
  if (gone) warnings.push("The program does not answer any more; this is what it had sent.");
  if (meta.lost > 0) warnings.push(`${count(meta.lost)} samples could not be kept, so that figures are a little too low.`);
  if (meta.faults > 0) {
    warnings.push(`${count(meta.faults)} values of the profile are wrong and were left out: ${meta.faultTexts.slice(0, 2).map(visible).join("; ")}${meta.faults > 2 ? "; …" : "."}`);
  }
  const { counts } = meta;
  if (!live && counts.samples + counts.waits + counts.allocations + counts.counted === 0) {
    warnings.push("The profile has no samples: the program ended before the first one, or none were asked for.");
  }
  return (
    <div class="app">
      <header class="top">
        <Logo />
        <h1 title={[meta.header.program, ...meta.header.arguments].map(visible).join(" ")}>{visible(meta.header.program) || "Profile"}</h1>
        {live && <span class="live" role="status">live</span>}
        <span class="spacer" />
        <label class="button" title="Open another profile">
          Open…
          <input type="file" class="sr-only" onChange={(event) => event.currentTarget.files?.[0] && onFile(event.currentTarget.files[0])} />
        </label>
        <ThemeButton />
        <button type="button" class="icon" onClick={() => setHelp(true)} aria-label="Help and keys" title="Help and keys (?)"><span aria-hidden="true">?</span></button>
      </header>
      <div
        class="tabs" role="tablist" aria-label="Views" ref={tabs}
        onKeyDown={(event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1, Home: -99, End: 99 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          const at = VIEWS.indexOf(state.view);
          const next = Math.abs(step) === 99 ? (step > 0 ? VIEWS.length - 1 : 0) : (at + step + VIEWS.length) % VIEWS.length;
          change({ view: VIEWS[next]! });
          (tabs.current!.children[next] as HTMLElement).focus();
        }}
      >
        {VIEWS.map((view) => (
          <button
            type="button" role="tab" key={view} id={`tab-${view}`} aria-selected={state.view === view} aria-controls="panel"
            tabIndex={state.view === view ? 0 : -1} onClick={() => change({ view })}
          >
            {VIEW_NAMES[view]}
          </button>
        ))}
      </div>
      <Filters />
      {warnings.map((text) => <p class="warning" role="status" key={text}>{text}</p>)}
      {message !== null && (
        <p class="warning problem" role="alert">{message} <button type="button" class="quiet" onClick={onDismiss} aria-label="Dismiss">✕</button></p>
      )}
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${state.view}`} class="panel">
        <Guard key={state.view}><Panel /></Guard>
      </div>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

export function startPage(script: string): void {
  startTheme();
  readAddress();
  addEventListener("popstate", readAddress);
  addEventListener("hashchange", readAddress);
  const client = new Client(script);
  (globalThis as unknown as { cannyProfile: unknown }).cannyProfile = { client, START };
  const root = document.getElementById("root")!;
  root.textContent = "";
  render(<App client={client} />, root);
}

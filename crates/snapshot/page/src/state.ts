// What is shown, kept in the fragment of the address, so that Back works and places can be noted.

import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["overview", "types", "map", "query", "duplicates", "unused", "compare", "suspects", "object"] as const;
export type View = (typeof VIEWS)[number];

export interface State { view: View; get(key: string): string | undefined; number(key: string): number | undefined }

function read(): State {
  const fields = new URLSearchParams(location.hash.slice(1));
  const view = fields.get("view") as View;
  const get = (key: string) => fields.get(key) ?? undefined;
  return {
    view: VIEWS.includes(view) ? view : "overview",
    get,
    number: (key) => {
      const value = get(key);
      return value !== undefined && /^\d{1,10}$/.test(value) ? Number(value) : undefined;
    },
  };
}

/** The fragment of a view. The snapshot stays what it is unless another one is given. */
export function fragment(view: View, fields: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams({ view });
  const snapshot = new URLSearchParams(location.hash.slice(1)).get("snapshot");
  if (snapshot !== null && fields["snapshot"] === undefined) query.set("snapshot", snapshot);
  for (const [key, value] of Object.entries(fields)) if (value !== undefined && value !== "") query.set(key, String(value));
  return `#${query}`;
}

/** Changes fields of the present view. */
export function change(fields: Record<string, string | number | undefined>, replaces = false): void {
  const query = new URLSearchParams(location.hash.slice(1));
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined || value === "") query.delete(key);
    else query.set(key, String(value));
  }
  if (replaces) {
    history.replaceState(null, "", `#${query}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = `#${query}`;
  }
}

export function useFragment(): State {
  const [state, setState] = useState(read);
  useEffect(() => {
    const listener = () => setState(read());
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return state;
}

// Light or dark: as the system wants it, until somebody chooses, which the browser keeps.

export type Theme = "light" | "dark";

export interface ThemeChoice {
  theme(): Theme;
  /** Shows the theme now and whenever the system changes its own. */
  start(): void;
  switch(): void;
}

/** The choice that is kept under a key. `shown` is called whenever the page has got a theme. */
export function themeChoice(key: string, shown: () => void = () => {}): ThemeChoice {
  // A worker that loads this module has no such function.
  const dark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  let choice: Theme | null = null;
  const theme = (): Theme => choice ?? (dark.matches ? "dark" : "light");
  const stored = (): Theme | null => {
    try {
      const value = localStorage.getItem(key);
      return value === "light" || value === "dark" ? value : null;
    } catch {
      return null;
    }
  };
  const show = () => {
    document.documentElement.dataset["theme"] = theme();
    shown();
  };
  return {
    theme,
    start() {
      choice = stored();
      show();
      dark.addEventListener("change", show);
    },
    switch() {
      choice = theme() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(key, choice);
      } catch {
        // The choice then lasts as long as the page.
      }
      show();
    },
  };
}

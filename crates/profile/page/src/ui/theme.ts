// Light and dark, and the colours that canvases draw with: they are read from the style sheet, so that
// each colour is defined once.

import { useEffect, useState } from "preact/hooks";
import { type Theme, themeChoice } from "../../../../report/page/src/theme";
import { GROUP_COUNT, TIER_COUNT, WAIT_KINDS } from "../data/profile";

const listeners = new Set<() => void>();
const choice = themeChoice("canny-profile-theme", () => {
  palette = readPalette();
  for (const listener of listeners) listener();
});

export const { theme, start: startTheme, switch: switchTheme } = choice;

export function useTheme(): Theme {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = () => again((value) => value + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return theme();
}

export const VARIANTS = 5;

export interface Palette {
  /** By group and variant: neighbours of one group differ a little. */
  group: string[][];
  groupDim: string[];
  tier: string[][];
  tierDim: string[];
  wait: string[];
  text: string;
  muted: string;
  line: string;
  surface: string;
  background: string;
  accent: string;
  match: string;
  boxText: string;
  dimText: string;
  runnable: string;
  event: string[];
  red: string;
  blue: string;
  same: string;
}

let palette: Palette;

export function colors(): Palette {
  return palette;
}

function channels(hex: string): [number, number, number] {
  const value = parseInt(hex.replace("#", ""), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function mix(from: string, to: string, share: number): string {
  const [a, b] = [channels(from), channels(to)];
  return `#${a.map((value, index) => Math.round(value + (b[index]! - value) * share).toString(16).padStart(2, "0")).join("")}`;
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim() || "#888888";
  const surface = read("surface");
  const variants = (color: string) =>
    Array.from({ length: VARIANTS }, (_, index) => mix(color, index < 2 ? "#000000" : "#ffffff", [0.07, 0.03, 0, 0.05, 0.1][index]!));
  const groups = Array.from({ length: GROUP_COUNT }, (_, group) => read(`group-${group}`));
  const tiers = Array.from({ length: TIER_COUNT }, (_, tier) => read(`tier-${tier}`));
  return {
    group: groups.map(variants),
    groupDim: groups.map((color) => mix(color, surface, 0.78)),
    tier: tiers.map(variants),
    tierDim: tiers.map((color) => mix(color, surface, 0.78)),
    wait: Array.from({ length: WAIT_KINDS.length }, (_, kind) => read(`wait-${kind}`)),
    text: read("text"), muted: read("muted"), line: read("line"), surface, background: read("background"),
    accent: read("accent"), match: read("match"), boxText: read("box-text"), dimText: read("dim-text"),
    runnable: read("runnable"),
    event: Array.from({ length: 5 }, (_, kind) => read(`event-${kind}`)),
    red: read("red"), blue: read("blue"), same: read("same"),
  };
}

export const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

// How figures and names are written.

import { visible } from "../../../../report/page/src/text";

export { visible };

const digits = (value: number, places: number) =>
  value.toLocaleString("en", { maximumFractionDigits: places, minimumFractionDigits: places });

function scaled(value: number, units: [number, string][]): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, name] of units) {
    if (size >= unit * 0.9995) {
      const number = value / unit;
      const whole = unit === 1 && Number.isInteger(value);
      return `${digits(number, whole || Math.abs(number) >= 99.95 ? 0 : Math.abs(number) >= 9.995 ? 1 : 2)} ${name}`;
    }
  }
  return `0 ${units[units.length - 1]![1]}`;
}

/** Nanoseconds. */
export function time(value: number): string {
  if (Math.abs(value) >= 120e9) {
    const seconds = Math.round(value / 1e9);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return `${hours > 0 ? `${hours} h ` : ""}${minutes} min ${seconds % 60} s`;
  }
  return scaled(value, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
}

export function size(value: number): string {
  return scaled(value, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
}

export function count(value: number): string {
  if (Math.abs(value) < 10000) return digits(Math.round(value), 0);
  return scaled(value, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]]).trim();
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.05) return value < 0 ? "> −0.1 %" : "< 0.1 %";
  return `${value.toFixed(1)} %`.replace("-", "−");
}

export function signedPercent(share: number): string {
  if (Math.abs(share) < 0.0005) return "± 0.0 %";
  return `${share > 0 ? "+" : "−"}${(Math.abs(share) * 100).toFixed(1)} %`;
}

/** A position on the time axis, with as many digits as the step between marks needs. */
export function clock(at: number, span: number): string {
  const seconds = at / 1e9;
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(span / 1e9 / 100))));
  return `${seconds.toFixed(places)} s`;
}

export type Unit = "time" | "size" | "count";

export function amount(value: number, unit: Unit): string {
  return unit === "time" ? time(value) : unit === "size" ? size(value) : count(value);
}

/** The last part of a path, which is what a person knows a file by. */
export function fileName(path: string): string {
  const parts = path.split(/[/\\]/);
  return parts[parts.length - 1] || path;
}

export function place(file: string | null, line: number, whole = false): string {
  if (file === null) return "";
  const name = visible(whole ? file : fileName(file));
  return line > 0 ? `${name}:${line}` : name;
}

export const GROUP_NAMES = [
  "Program", "Library", "Machine", "Collector", "Compiler", "Input, output", "Text", "Numbers", "Network",
  "Database", "Scheduler", "Kernel", "Foreign",
];
export const TIER_NAMES = ["interpreted", "compiled", "inlined", "native", "unknown"];
export const WAIT_NAMES = [
  "Lock", "Condition", "Barrier", "Channel", "Socket", "DNS", "Database", "Timer", "Process", "Future", "Pool", "Other",
];

// Amounts and names for people.

export { visible } from "../../../report/page/src/text";

export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let index = 0;
  while (Math.abs(value) >= 999.5 && index + 1 < units.length) {
    value /= 1000;
    index += 1;
  }
  return `${value.toFixed(index > 0 && Math.abs(value) < 99.95 ? 1 : 0)} ${units[index]}`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function signed(number: number, format: (value: number) => string): string {
  return number > 0 ? `+${format(number)}` : number < 0 ? `−${format(-number)}` : format(0);
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

export function time(milliseconds: number): string {
  if (milliseconds === 0) return "–";
  return new Date(milliseconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

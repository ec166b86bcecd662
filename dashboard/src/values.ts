/** Values of metadata: how they travel, how they are shown, and how a person writes them. */

type MetadataValue = string | number | boolean | { $time: string };

const NUMBER = /^[+-]?(?:(?:0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$/;
const TIME =
  /^\d{4}-\d{2}-\d{2}([Tt]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|z|[+-]\d{2}(:?\d{2})?)?)?$/;

/** The same rules as the command line's: a number, true or false, a time, else a text. */
export function parseValue(text: string): MetadataValue {
  const quote = text[0];
  if (text.length >= 2 && (quote === "'" || quote === '"') && text.at(-1) === quote) {
    return text.slice(1, -1);
  }
  if (NUMBER.test(text) && Number.isFinite(Number(text))) return Number(text);
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  if (TIME.test(text)) {
    const zoned = /[Tt]/.test(text) && !/(Z|z|[+-]\d{2}(:?\d{2})?)$/.test(text.slice(11));
    const time = new Date(zoned ? `${text}Z` : text);
    if (!Number.isNaN(time.getTime())) return { $time: text.length === 10 ? `${text}T00:00:00Z` : zoned ? `${text}Z` : text };
  }
  return text;
}

/** A value such that parseValue reads an equal one. */
export function writeValue(value: unknown): string {
  if (isTime(value)) return value.$time;
  if (typeof value === "string") return parseValue(value) === value ? value : `'${value}'`;
  return String(value);
}

export function showValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (isTime(value)) return value.$time;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function isTime(value: unknown): value is { $time: string } {
  return typeof value === "object" && value !== null && "$time" in value;
}

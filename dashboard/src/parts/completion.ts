/** What may follow in a query, by what was written so far. */

const WORDS = ["and", "or", "not", "has", "in", "between", "order by", "limit", "max", "min"];
const FIRST = ["not", "has", "max", "min", "order by"];
const NAMES_A_KEY = /(?:\b(?:and|or|not|has|by|max|min)\s+|\(\s*)$/i;
const KEYWORD = /^(?:and|or|not|in|between|has|order|by|limit|max|min|asc|desc)$/i;
const CONSTANT = /^(?:true|false|today|yesterday|now|me)$/i;
const LIKE_A_RELATION = /^(?:jobs?|inputs?|outputs?|sets?|files?)\./;

const KEY = /[A-Za-z_][\w.-]*|(?:(?:job|input|output)\.)?`[^`]*`/.source;
const TEXT = /'(?:[^']|'')*'|"(?:[^"]|"")*"/.source;
const BEFORE_A_VALUE = new RegExp(
  `(?:^|[\\s(])(${KEY})\\s*(?:==?|!=|<>|!?~|<=?|>=?|\\bin\\s*\\((?:(?:\\s*(?:${TEXT})\\s*|[^'"(),]+),)*)\\s*$`,
  "i",
);

export interface Place {
  key: string | null; // whose value is being written; none if a key is, or a word
  begun: string; // what of it is there
  head: string; // all before that
}

/** Where in a query the end of a text is. */
export function placeIn(text: string): Place {
  const quote = openQuote(text);
  const word = /[^\s'"`(),=!<>~]*$/.exec(text)?.[0] ?? "";
  const head = text.slice(0, quote ?? text.length - word.length);
  const begun = quote === null ? word : plain(text.slice(quote));
  return { key: BEFORE_A_VALUE.exec(head)?.[1]?.replaceAll("`", "") ?? null, begun, head };
}

/** Where the quote begins that is not closed, if one is not. */
function openQuote(text: string): number | null {
  let open: number | null = null;
  for (let at = 0; at < text.length; at += 1) {
    if (open === null) {
      if (/['"`]/.test(text.charAt(at))) open = at;
    } else if (text[at] === text[open]) open = null; // a doubled one closes, and opens again
  }
  return open;
}

/** Whole texts to choose from; keys and values are given as they are written. */
export function complete(text: string, keys: string[], values: string[]): string[] {
  const { key, begun, head } = placeIn(text);
  if (key !== null) return matching(values, begun, 20).map((value) => `${head}${value} `);
  if (!begun && text.trim() && !NAMES_A_KEY.test(text)) {
    return ["and", "or", "order by"].map((word) => `${text.trimEnd()} ${word} `);
  }
  return matching([...keys, ...(head.trim() ? WORDS : FIRST)], begun, 30).map(
    (word) => `${head}${word}${word.endsWith(".") ? "" : " "}`,
  );
}

function matching(words: string[], begun: string, most: number): string[] {
  const small = begun.toLowerCase();
  return [...new Set(words)]
    .filter((word) => word !== begun && plain(word).toLowerCase().startsWith(small))
    .slice(0, most);
}

/** A key of a user's that means something else in the language stands in backticks. */
export function writtenKey(key: string): string {
  return KEYWORD.test(key) || LIKE_A_RELATION.test(key) ? `\`${key}\`` : key;
}

export function writtenText(value: string): string {
  const bare = /^[A-Za-z_/][\w./:@%+-]*$/.test(value) && !KEYWORD.test(value) && !CONSTANT.test(value);
  return bare ? value : `'${value.replaceAll("'", "''")}'`;
}

/** What was written, also if its quote is not closed. */
function plain(written: string): string {
  const quote = written[0] ?? "";
  if (!/['"`]/.test(quote)) return written;
  const closed = written.length > 1 && written.endsWith(quote);
  return written.slice(1, closed ? -1 : undefined).replaceAll(quote + quote, quote);
}

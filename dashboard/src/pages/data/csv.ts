/** The first rows of a CSV or TSV text: quoted fields may hold separators and line ends. */
export function parseRows(text: string, separator: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let quoted = false;
  for (let at = 0; at < text.length && rows.length < most; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char !== '"') field += char;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else quoted = false;
    } else if (char === '"' && field === "") quoted = true;
    else if (char === separator) {
      row.push(field);
      field = "";
    } else if (char === "\n") {
      row.push(field.replace(/\r$/, ""));
      rows.push(row);
      [row, field] = [[], ""];
    } else field += char;
  }
  if (rows.length < most && (field || row.length > 0)) rows.push([...row, field]);
  return rows;
}

/** Reads CSV strictly, as RFC 4180 has it. */

/** Reads a table with CRLF and a byte order mark. @throws Error: the text is something else */
export function readCsv(text: string): string[][] {
  if (!text.startsWith('\uFEFF')) throw new Error('The byte order mark is missing')
  const rows: string[][] = []
  let row: string[] = []
  for (let at = 1; at < text.length; ) {
    const [, quoted, bare, end] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at, at + 200_000)) ?? []
    if (end === undefined) throw new Error(`Not a field: ${JSON.stringify(text.slice(at, at + 80))}`)
    row.push(quoted === undefined ? (bare ?? '') : quoted.replaceAll('""', '"'))
    at += (quoted === undefined ? (bare ?? '').length : quoted.length + 2) + end.length
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

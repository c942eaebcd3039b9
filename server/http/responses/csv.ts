/** Sends nodes as CSV, which is created while it is read. Source: RFC 4180. */

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { stringify } from 'csv-stringify/sync'
import type { Request, Response } from 'express'
import type { Row } from '../../domain/search/node-tables.ts'
import type { CsvTable } from './responses.ts'
import { attachment, noting, sendStreamed } from './streamed.ts'

const separator = '; '
/** Rows that are written at once. They may have 1 MB. */
const rowsAtOnce = 20

/**
 * Sends a table. A fault after the first byte ends the connection in the middle of it.
 *
 * @throws the errors of `table.send`, before the first byte
 */
export async function sendCsv(req: Request, res: Response, { table }: CsvTable): Promise<void> {
  await sendStreamed(req, res, {
    headers: {
      'Content-Type': 'text/csv; charset=utf-8; header=present',
      'Content-Disposition': attachment(table.name, 'csv'),
    },
    send: table.send,
    write: (pages, { signal, noteFault }) => {
      const content = noting(csvOf(table.columns, pages), noteFault)
      return pipeline(Readable.from(content, { objectMode: false }), res, { signal })
    },
  })
}

/** Yields the header, then the rows. Excel reads UTF-8 only with a byte order mark. */
async function* csvOf(columns: readonly string[], pages: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  yield linesOf([columns], { bom: true })
  for await (const rows of pages) {
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      yield linesOf(rows.slice(at, at + rowsAtOnce))
      await nextTurn()
    }
  }
}

/** A text that a spreadsheet would run gets an apostrophe. A negative number stays. */
function linesOf(rows: readonly Row[], { bom = false } = {}): string {
  const cells = rows.map((row) => row.map(writtenOf))
  // Many programs skip an empty line.
  const isNarrow = rows[0]?.length === 1
  return stringify(cells, {
    ...{ bom, record_delimiter: '\r\n', escape_formulas: true, quoted_empty: isNarrow },
    // Without it, a lone CR or LF would not be quoted.
    quote_record_delimiter: true,
  })
}

function writtenOf(value: unknown): string | number {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string' || typeof value === 'number') return value
  if (!Array.isArray(value)) return JSON.stringify(value)
  if (value.length === 1) return writtenOf(value[0])
  return value.every(isPlain) ? value.join(separator) : JSON.stringify(value)
}

/** True if a joined list still shows this element apart from the others. */
function isPlain(element: unknown): boolean {
  if (typeof element === 'number' || typeof element === 'boolean') return true
  return typeof element === 'string' && element !== '' && !element.includes(separator)
}

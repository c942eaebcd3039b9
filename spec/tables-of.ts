/** Writes the tables of the documents that list event types, audit actions and caches. */
import { type Bound, bounds, bytesOfBound } from '../gitstore/caching/bounds.ts'
import { auditGroups } from '../server/base/audit-actions.ts'
import { eventCatalog, eventTypes } from '../server/base/event-types.ts'

/** The tables, by the file of the catalog that the comment above each names. */
const tables: Readonly<Record<string, string>> = {
  'server/base/event-types': tableOf(['type', 'when', '`data`'], eventTypes.map(eventRow)),
  'server/base/audit-actions': tableOf(['actions', 'when'], auditGroups.map(auditRow)),
  'gitstore/caching/bounds': tableOf(['cache', 'bound', 'MiB'], cacheRows()),
}

function eventRow(type: (typeof eventTypes)[number]): readonly string[] {
  const { when, data } = eventCatalog[type]
  return [`\`${type}\``, when, data]
}

function auditRow({ actions, when }: (typeof auditGroups)[number]): readonly string[] {
  const names = Object.keys(actions).map((action) => `\`${action}\``)
  return [names.join(', '), when]
}

/** Lists the caches, the largest first, and their sum. */
function cacheRows(): (readonly string[])[] {
  const all: [string, Bound][] = Object.entries(bounds)
  const rows = all.toSorted(([, one], [, other]) => bytesOfBound(other) - bytesOfBound(one))
  const sum = all.reduce((bytes, [, bound]) => bytes + bytesOfBound(bound), 0)
  return [
    ...rows.map(([name, bound]) => [`\`${name}\``, boundText(bound), inMib(bytesOfBound(bound))]),
    ['all', '', inMib(sum)],
  ]
}

function boundText({ counts, most, bytesEach, copies = 1 }: Bound): string {
  if (counts === 'sizes' && bytesEach === 1) return `${most.toLocaleString('en')} bytes`
  const what = counts === 'entries' ? 'entries' : 'parts of entries'
  return `${copies > 1 ? `${copies} × ` : ''}${most.toLocaleString('en')} ${what}, ${bytesEach.toLocaleString('en')} bytes each`
}

function inMib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}

/** Returns a document with the current tables below its comments that name a catalog. */
export function withTables(markdown: string): string {
  return markdown.replaceAll(
    /^(<!-- npm run generate writes this table from ([\w/-]+)\.ts -->\n\n)(?:\|.*\n)*/gm,
    (_, comment: string, catalog: string) => {
      const table = tables[catalog]
      if (table === undefined) throw new Error(`The table of ${catalog}.ts is unknown`)
      return `${comment}${table}`
    },
  )
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map(
    (cells) => `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|\n`,
  )
  return lines.toSpliced(1, 0, `|${head.map(() => '---').join('|')}|\n`).join('')
}

/** Writes the tables of the documents that list event types and audit actions. */
import { auditGroups } from '../server/base/audit-actions.ts'
import { eventCatalog, eventTypes } from '../server/base/event-types.ts'

/** The tables, by the catalog that the comment above each names. */
const tables: Readonly<Record<string, string>> = {
  'event-types': tableOf(['type', 'when', '`data`'], eventTypes.map(eventRow)),
  'audit-actions': tableOf(['actions', 'when'], auditGroups.map(auditRow)),
}

function eventRow(type: (typeof eventTypes)[number]): readonly string[] {
  const { when, data } = eventCatalog[type]
  return [`\`${type}\``, when, data]
}

function auditRow({ actions, when }: (typeof auditGroups)[number]): readonly string[] {
  const names = Object.keys(actions).map((action) => `\`${action}\``)
  return [names.join(', '), when]
}

/** Returns a document with the current tables below its comments that name a catalog. */
export function withTables(markdown: string): string {
  return markdown.replaceAll(
    /^(<!-- npm run generate writes this table from server\/base\/([\w-]+)\.ts -->\n\n)(?:\|.*\n)*/gm,
    (_, comment: string, catalog: string) => {
      const table = tables[catalog]
      if (table === undefined) throw new Error(`There is no table of server/base/${catalog}.ts`)
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

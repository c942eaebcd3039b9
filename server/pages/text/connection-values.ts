/** The values that a filter compares connections with: `->author:ID`. */

const quoted = '"(?:[^"]|"")*"(?!")'
const value = `(?:${quoted}|[^\\s()",]+)`
/** The first part skips quoted texts, which may look like conditions. */
const conditions = new RegExp(
  `${quoted}|(?<![^\\s(-])->(?:${quoted}|[^\\s()",:=!<>~]+)(?::|!?=)(${value}(?:,${value})*)`,
  'g',
)
const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns the values that are not the id of a page. They match no page. */
export function valuesWithoutId(where: string): string[] {
  return [...where.matchAll(conditions)]
    .flatMap(([, values = '']) => values.match(/"(?:[^"]|"")*"|[^",]+/g) ?? [])
    .filter((text) => text !== '*')
    .map((text) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text))
    .filter((text) => !id.test(text))
}

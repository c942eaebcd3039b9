/** The metrics that server/deploy/metrics.md documents. */

import { readFile } from 'node:fs/promises'

/** Their full names. */
export async function documentedMetrics(): Promise<string[]> {
  const text = await readFile('server/deploy/metrics.md', 'utf8')
  const [, section = ''] = text.split(/^## Metrics$/m)
  const rows = section.split(/^## /m)[0]?.match(/^\| `.*$/gm) ?? []
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => `grove_${name}`))
}

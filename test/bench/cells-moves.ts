/**
 * Moves an organisation of 1,000 nodes to another cell while a client writes to it. Measures the duration, and how long
 * changes are refused.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { runGroveCommand } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import type { CellScene } from './cells-scene.ts'
import type { Report } from './report.ts'

const batches = 10
const nodesOfBatch = 100
/** Milliseconds between two changes. */
const pauseMs = 50

export async function benchMove(report: Report, { cells, databaseUrl, org, token }: CellScene): Promise<void> {
  const [here, there] = cells
  if (here === undefined || there === undefined) throw new Error('There are no two cells')
  const ann = client(here.grove, token)
  const orgId = await org(here)
  const ids: string[] = []
  for (let n = 0; n < batches; n++) {
    const nodes = Array.from({ length: nodesOfBatch }, (_, at) => ({
      title: `Node ${n} ${at}`,
      text_content: 'Whales sing. '.repeat(80),
    }))
    const { body } = await ann.post(`/orgs/${orgId}/nodes/batch`, { nodes }).then(expecting(201))
    ids.push(...body.nodes.map(({ id }: { id: string }) => id))
  }
  let over = false
  let refusedFor = 0
  const writing = (async () => {
    let refusedAt: number | undefined
    for (let at = 0; !over; at++, await sleep(pauseMs)) {
      const changes = [{ action: 'put', path: 'content.md', content: String(at) }]
      const path = `/orgs/${orgId}/nodes/${ids[at % 10]}/tree/main/commits`
      const { status } = await client(there.grove, token).post(path, { message: 'Count', changes })
      if (status === 503) refusedAt ??= performance.now()
      else if (refusedAt !== undefined) {
        refusedFor = Math.max(refusedFor, performance.now() - refusedAt)
        refusedAt = undefined
      }
    }
  })()
  const began = performance.now()
  const environment = { DATABASE_URL: databaseUrl, CELL: here.name, CELL_URL: here.grove.url }
  const { code, stdout, stderr } = await runGroveCommand(
    here.grove.dataDir,
    ['move-org', orgId, there.name],
    environment,
  )
  const seconds = (performance.now() - began) / 1_000
  over = true
  await writing
  if (code !== 0) throw new Error(`${stdout}${stderr}`)
  report.say(
    `\nan organisation of ${(ids.length + 1).toLocaleString('en')} repositories moves in ${seconds.toFixed(1)} s, ` +
      `${(ids.length / seconds).toFixed(0)} a second; a client that changes it every ${pauseMs} ms is refused for ${(refusedFor / 1_000).toFixed(1)} s`,
  )
}

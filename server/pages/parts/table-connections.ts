/** The connections that a table of pages shows as columns. */

import pLimit from 'p-limit'
import type { Api } from '../../../spec/client/api.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { TableColumn } from '../text/property-names.ts'

/** The connections that start at a node, by its id. */
export type Connections = ReadonlyMap<string, readonly AnswerOf<'listConnections'>['connections'][number][]>

/** `atOnce`: reads. `connections`: of a node that are read, which start at it or lead to it. */
const most = { atOnce: 8, connections: 200 } as const

/** Reads connections if a column shows them. */
export async function readConnections(
  api: Api,
  nodes: AnswerOf<'queryNodes'>['nodes'],
  columns: readonly TableColumn[],
): Promise<Connections> {
  if (!columns.some((column) => 'connection' in column)) return new Map()
  const inTurn = pLimit(most.atOnce)
  const all = nodes.map(({ id, org_id }) =>
    inTurn(async () => {
      const path = { org_id, node_id: id }
      const { connections } = await api.listConnections({ path, query: { limit: most.connections } })
      return [id, connections.filter(({ source }) => source === id)] as const
    }),
  )
  return new Map(await Promise.all(all))
}

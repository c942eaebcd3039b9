/** Retrieval within one organisation: an index in memory, caught up by version whenever it is asked. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import {
  createSearchIndex,
  type Question,
  removeNode,
  retrieve as retrieveFrom,
  type SearchIndex,
  setDocument,
  setEdges,
} from '../../index/search/retrieve.ts'
import type { Deps } from '../deps.ts'
import { orgFor } from './access.ts'
import type { Person } from './actor.ts'
import { toGraphEdge } from './graph/graph.ts'
import { refuseLongQuery } from './limits.ts'

/** Rows read and indexed before the event loop has its turn. */
const batch = 200

interface OrgSearch {
  readonly index: SearchIndex
  /** Of the organisation's row that the versions belong to. */
  readonly epoch: string
  /** The organisation's versions up to which nodes and tombstones are in the index. */
  nodes: number
  tombstones: number
  /** One at a time: an answer is given between two changes, never within one. */
  turn: Promise<unknown>
}

/** The indexes in memory, the least used dropped first. */
export type SearchCache = LRUCache<string, OrgSearch>

export function openSearches(): SearchCache {
  return new LRUCache({ max: 64 })
}

export async function retrieve(deps: Deps, actor: Person, orgId: string, question: Question) {
  const { epoch } = (await orgFor(deps, actor, orgId, 'reader')).org
  refuseLongQuery(question.query)
  let search = deps.searches.get(orgId)
  if (search?.epoch !== epoch) {
    search = { index: createSearchIndex(), epoch, nodes: 0, tombstones: 0, turn: Promise.resolve() }
    deps.searches.set(orgId, search)
  }
  const mine = search
  const answer = mine.turn.then(async () => {
    await catchUp(deps, orgId, mine)
    return retrieveFrom(mine.index, question)
  })
  mine.turn = answer.catch(() => undefined)
  const { nodes, ...rest } = await answer
  return { ...rest, nodes: nodes.map((node) => ({ ...node, org_id: orgId })) }
}

/** Nodes before tombstones: one deleted in between is forgotten, one made in between is found the next time. */
async function catchUp(deps: Deps, orgId: string, search: OrgSearch): Promise<void> {
  for (;;) {
    const rows = await changedNodes(deps, orgId, search.nodes)
    for (const row of rows) {
      const { id, title, tags, text, updated_at: updatedAt, head } = row
      setDocument(search.index, {
        id,
        title,
        text,
        tags: JSON.parse(tags) as string[],
        updatedAt,
        ...(head === null ? {} : { commitId: head }),
      }) // tags: written by follow.ts
      setEdges(search.index, id, await edgesHeldBy(deps, id))
    }
    search.nodes = rows.at(-1)?.changed ?? search.nodes
    if (rows.length < batch) break
    await nextTurn()
  }
  const gone = await deps.index.read
    .selectFrom('tombstone')
    .select(['node_id', 'changed'])
    .where('org_id', '=', orgId)
    .where('changed', '>', search.tombstones)
    .orderBy('changed')
    .execute()
  for (const { node_id, changed } of gone) {
    removeNode(search.index, node_id)
    search.tombstones = changed
  }
}

async function changedNodes(deps: Deps, orgId: string, since: number) {
  return deps.index.read
    .selectFrom('node')
    .innerJoin('node_text', 'node_text.node_id', 'node.id')
    .select(['node.id', 'node.title', 'node.tags', 'node.updated_at', 'node.head', 'node.changed', 'node_text.text'])
    .where('node.org_id', '=', orgId)
    .where('node.changed', '>', since)
    .orderBy('node.changed')
    .limit(batch)
    .execute()
}

async function edgesHeldBy(deps: Deps, holder: string) {
  const edges = await deps.index.read.selectFrom('edge').selectAll().where('holder', '=', holder).execute()
  return edges.map((edge) => ({ ...toGraphEdge(edge), holder }))
}

/** Brings an organisation's search index up to its rows, by version, before each search. */
import { listEdgesHeldBy } from '../../../index/derived/edges.ts'
import { findSearchRow, listChangedNodes, listTombstones } from '../../../index/derived/search-rows.ts'
import {
  CUTS,
  createSearchIndex,
  fittingCut,
  removeNode,
  setDocument,
  setEdges,
  wholeLetters,
} from '../../../index/search/retrieve.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { toGraphEdge } from '../graph/graph.ts'
import type { Slices } from '../slices.ts'
import { makeRoom, type OrgSearch } from './search-memory.ts'

/** Ids read at a time. Texts are read one at a time, and only the indexed part. */
const batch = 200

/** How often an index is rebuilt with shorter texts before giving up. */
const rounds = 4

/** @throws Refusal busy; too_large if not even the titles fit */
export async function catchUp(deps: Deps, orgId: string, search: OrgSearch, run: Slices): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await readNodes(deps, orgId, search, run)
    await readTombstones(deps, orgId, search, run)
    const cut = fittingCut(search.index)
    if (cut === undefined)
      throw new Refusal('too_large', 'The titles and edges of this organisation are more than a search can hold')
    if (cut === search.index.cut && !search.index.overfull) return
    search.index = createSearchIndex({ cut, key: search.epoch, limitBytes: search.index.limitBytes })
    search.nodes = 0
    search.tombstones = 0
  }
  deps.searches.delete(orgId)
  throw new Refusal('busy', 'The organisation changes faster than it can be indexed for search; try again')
}

/** Nodes before tombstones: a node deleted in between is removed, one created in between is found next time. */
async function readNodes(deps: Deps, orgId: string, search: OrgSearch, run: Slices): Promise<void> {
  for (;;) {
    const rows = await listChangedNodes(deps.index.read, orgId, search.nodes, batch)
    for (const { id, changed } of rows) {
      await indexForSearch(deps, orgId, id, search, run)
      search.nodes = changed
      makeRoom(deps.searches, search)
    }
    if (rows.length < batch) return
  }
}

/** Reads the node's current state; if it is newer than requested, it will be read again later. */
async function indexForSearch(deps: Deps, orgId: string, id: string, { index }: OrgSearch, run: Slices): Promise<void> {
  const row = await findSearchRow(deps.index.read, orgId, id, CUTS[0])
  if (!row) return
  const { title, tags, updated_at: updatedAt, head, beginning, bytes } = row
  const document = {
    id,
    title,
    text: wholeLetters(beginning),
    bytes,
    tags: JSON.parse(tags) as string[],
    updatedAt,
  } // tags: written by index-node.ts
  await run(setDocument(index, head === null ? document : { ...document, commitId: head }))
  setEdges(index, id, await edgesHeldBy(deps, id))
}

async function readTombstones(deps: Deps, orgId: string, search: OrgSearch, run: Slices): Promise<void> {
  for (;;) {
    const rows = await listTombstones(deps.index.read, orgId, search.tombstones, batch)
    for (const { node_id, changed } of rows) {
      await run(removeNode(search.index, node_id))
      search.tombstones = changed
    }
    if (rows.length < batch) return
  }
}

async function edgesHeldBy(deps: Deps, holder: string) {
  const edges = await listEdgesHeldBy(deps.index.read, holder)
  return edges.map((edge) => ({ ...toGraphEdge(edge), holder }))
}

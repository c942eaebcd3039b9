/** The graph of a published organisation, for anybody, kept as the bytes that are sent. */
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { findPublishedState } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import type { OrgAt } from '../at.ts'
import { indexFile, isId } from '../layout.ts'
import { versionOf } from './graph-drawing.ts'
import { type Drawn, drawInThread } from './graph-thread.ts'

// For search, which shows the same edges.
export { toGraphEdge } from './graph-drawing.ts'

interface GzippedGraph {
  /** Names this state of the graph among all others of any organisation; the same in every process. */
  readonly version: string
  /** JSON of a PublicGraph, compressed. */
  readonly gzip: Uint8Array<ArrayBuffer>
  /** Bytes of that JSON. */
  readonly length: number
}

/** A graph that is published, at which version, before anything of it is read. */
interface OpenGraph {
  readonly version: string
  /**
   * The graph at this version or a later one: from memory, or drawn in a thread.
   *
   * @throws Refusal org_not_found, where it was unpublished meanwhile; as drawInThread
   */
  read(): Promise<GzippedGraph>
}

/** Bytes of graphs and counts in memory, the least used dropped first; a single greater graph is drawn at every request. */
const room = 256 * 1024 * 1024

/** By organisation, asked for only after its row has said, now, that it is published and at which version. */
const graphs = new LRUCache<string, Drawn>({ maxSize: room, sizeCalculation: sizeOf })

/** A drawing that is wanted or at work. */
interface Drawing {
  /** The organisation's version when it was asked for; what is drawn may be later. */
  readonly version: string
  begun: boolean
  readonly graph: Promise<Drawn | undefined>
}

/** The latest of each organisation. */
const drawings = new Map<string, Drawing>()

/**
 * Authorization is ignored here; unknown and unpublished are told the same.
 *
 * @throws Refusal org_not_found
 */
export async function openPublicGraph(deps: Deps, { orgId }: OrgAt): Promise<OpenGraph> {
  const version = await readVersion(deps, orgId)
  return { version, read: () => readGraph(deps, orgId, version) }
}

async function readGraph(deps: Deps, orgId: string, version: string): Promise<GzippedGraph> {
  const known = graphs.get(orgId)
  if (known?.version === version) return known
  const drawn = await drawGraph(deps, orgId, version)
  // Drawing takes its time: the organisation may have been unpublished meanwhile.
  await readVersion(deps, orgId)
  if (drawn === undefined) throw new Refusal('busy', 'The organisation was published just now; try again')
  return drawn
}

/** Everybody who wants this version shares one drawing, and whoever asks before the next has begun shares that. */
function drawGraph(deps: Deps, orgId: string, version: string): Promise<Drawn | undefined> {
  const latest = drawings.get(orgId)
  if (latest && (latest.version === version || !latest.begun)) return latest.graph
  const order = { file: join(deps.store.root, indexFile), orgId, known: graphs.peek(orgId)?.counts }
  const begin = () => {
    drawing.begun = true
  }
  const graph = drawInThread(order, begin)
    .then((drawn) => {
      if (drawn !== undefined) graphs.set(orgId, drawn)
      return drawn
    })
    .finally(() => {
      if (drawings.get(orgId) === drawing) drawings.delete(orgId)
    })
  const drawing: Drawing = { version, begun: false, graph }
  drawings.set(orgId, drawing)
  return graph
}

/** One prepared statement: it is all that a client with a valid copy costs. @throws Refusal org_not_found */
async function readVersion(deps: Deps, orgId: string): Promise<string> {
  const state = isId(orgId) ? await findPublishedState(deps.index.read, orgId) : undefined
  if (state === undefined) throw new Refusal('org_not_found', 'Organisation not found')
  return versionOf(state)
}

function sizeOf({ gzip, counts: { counted } }: Drawn): number {
  const { parents, children, ancestors, descendants, hidden } = counted
  return [gzip, parents, children, ancestors, descendants, hidden].reduce((sum, part) => sum + part.byteLength, 1_000)
}

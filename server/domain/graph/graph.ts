/** The graph of an organisation, for the public and for members, cached as the bytes to send. */
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { findPublishedState } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { orgFor } from '../access.ts'
import type { Actor } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { indexFile, isId } from '../layout.ts'
import { versionOf } from './graph-drawing.ts'
import { type Drawn, drawInThread } from './graph-thread.ts'

// Search shows the same edges.

interface GzippedGraph {
  /** Identifies this state of the graph among all organisations; the same in every process. */
  readonly version: string
  /** Gzipped JSON of a PublicGraph. */
  readonly gzip: Uint8Array<ArrayBuffer>
  /** Bytes of that JSON. */
  readonly length: number
}

/** A graph at a version; its content is not read yet. */
interface OpenGraph {
  readonly version: string
  /**
   * The graph at this version or a later one: from the cache, or drawn in a thread.
   *
   * @throws Refusal as the function that opened it, if the caller's access ended meanwhile; busy; as drawInThread
   */
  read(): Promise<GzippedGraph>
}

/** Bytes of cached graphs and counts, least recently used dropped first. A larger graph is drawn at every request. */
const room = 256 * 1024 * 1024

/**
 * By organisation. Read only after the organisation's row says that the caller may see it, and at which version. Publishing
 * changes the version too.
 */
const graphs = new LRUCache<string, Drawn>({ maxSize: room, sizeCalculation: sizeOf })

/** A drawing that is requested or running. */
interface Drawing {
  /** The organisation's version when it was requested; the drawn version may be later. */
  readonly version: string
  begun: boolean
  readonly graph: Promise<Drawn | undefined>
}

/** The latest of each organisation. */
const drawings = new Map<string, Drawing>()

/** What a caller may see of an organisation at this moment. */
interface View {
  readonly version: string
  /** Whether the caller reads as the public does, and so no state in which the organisation was not published. */
  readonly isPublic: boolean
}

/**
 * Ignores authorization. Unknown and unpublished organisations get the same refusal.
 *
 * @throws Refusal org_not_found
 */
export function openPublicGraph(deps: Deps, { orgId }: OrgAt): Promise<OpenGraph> {
  return openGraphAs(deps, orgId, () => publicView(deps, orgId))
}

/** The same for members, published or not; for others as the public graph. @throws Refusal as orgFor */
export function openGraph(deps: Deps, actor: Actor, at: OrgAt): Promise<OpenGraph> {
  return openGraphAs(deps, at.orgId, async () => {
    const { org, role } = await orgFor(deps, actor, at, 'public')
    return { version: versionOf(org), isPublic: role === null }
  })
}

async function openGraphAs(deps: Deps, orgId: string, look: () => Promise<View>): Promise<OpenGraph> {
  const { version } = await look()
  return { version, read: () => readGraph(deps, orgId, version, look) }
}

async function readGraph(deps: Deps, orgId: string, version: string, look: () => Promise<View>): Promise<GzippedGraph> {
  const known = graphs.get(orgId)
  if (known?.version === version) return known
  const drawn = await drawGraph(deps, orgId, version)
  // During the drawing the organisation may have been unpublished, or the member removed.
  const { isPublic } = await look()
  if (drawn === undefined || (isPublic && !drawn.published))
    throw new Refusal('busy', 'The organisation was published just now; try again')
  return drawn
}

/** Requests for the same version share one drawing; requests for a newer one share the next, if it has not begun. */
function drawGraph(deps: Deps, orgId: string, version: string): Promise<Drawn | undefined> {
  const latest = drawings.get(orgId)
  if (latest && (latest.version === version || !latest.begun)) return latest.graph
  const order = { file: join(deps.store.root, indexFile), orgId, known: graphs.peek(orgId)?.counts }
  let began = 0
  const begin = () => {
    drawing.begun = true
    began = performance.now()
  }
  const graph = drawInThread(order, begin)
    .then((drawn) => {
      deps.metrics.graphSeconds.observe((performance.now() - began) / 1000)
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

/** One prepared statement: the whole cost for a client with a valid copy. @throws Refusal org_not_found */
async function publicView(deps: Deps, orgId: string): Promise<View> {
  const state = isId(orgId) ? await findPublishedState(deps.index.read, orgId) : undefined
  if (state === undefined) throw new Refusal('org_not_found', 'Organisation not found')
  return { version: versionOf(state), isPublic: true }
}

function sizeOf({ gzip, counts: { counted } }: Drawn): number {
  const { parents, children, ancestors, descendants, hidden } = counted
  return [gzip, parents, children, ancestors, descendants, hidden].reduce((sum, part) => sum + part.byteLength, 1_000)
}

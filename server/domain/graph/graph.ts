/** The graph of an organisation and its map, for the public and for members, cached as the bytes to send. */
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { findNode } from '../../../index/derived/node-queries.ts'
import { findPublishedState } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import { type Actor, callerOf, type RequestContext } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { indexFile, isId } from '../layout.ts'
import type { OrgAt } from '../targets.ts'
import { versionOf } from './graph-drawing.ts'
import { type Drawn, drawInThread, type Figures } from './graph-thread.ts'
import type { MapPart } from './map-drawing.ts'

// Search shows the same edges.

interface GzippedGraph {
  /** Identifies this state of the graph among all organisations; the same in every process. */
  readonly version: string
  /** Gzipped JSON of a PublicGraph or a GraphMap. */
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
   * @throws AppError as the function that opened it, if the caller's access ended meanwhile; busy; as drawInThread
   */
  read(): Promise<GzippedGraph>
}

/** Bytes that are cached of graphs and maps, and of figures; least recently used dropped first. What is larger is made at every request. */
const room = { drawn: 192 * 1024 * 1024, figures: 64 * 1024 * 1024 } as const

/**
 * By organisation and what is drawn. Read only after the organisation's row says that the caller may see it, and at which
 * version. Publishing changes the version too.
 */
const drawn = new LRUCache<string, Drawn>({
  maxSize: room.drawn,
  sizeCalculation: ({ gzip }) => gzip.byteLength + 1_000,
})

/** By organisation: what graph and map are drawn from. */
const figures = new LRUCache<string, Figures>({ maxSize: room.figures, sizeCalculation: sizeOf })

/** Drawings of this process: the thread takes one at a time. */
const semaphore = createCallerSemaphore({
  all: { running: 1, waiting: 256 },
  person: { running: 1, waiting: 32 },
  address: { running: 1, waiting: 16 },
  anonymous: { running: 1, waiting: 192 },
  waitTimeoutMs: 60_000,
  refusal: 'Too many graphs and maps are being drawn; try again',
})

/** A drawing that is requested or running. */
interface Drawing {
  /** The organisation's version when it was requested; the drawn version may be later. */
  readonly version: string
  begun: boolean
  readonly graph: Promise<Drawn | undefined>
}

/** The latest of each organisation, what is drawn, and who requested it: nobody waits for the turn of another caller. */
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
 * @throws AppError org_not_found
 */
export function openPublicGraph(deps: Deps, by: By, { orgId }: OrgAt): Promise<OpenGraph> {
  return open({ deps, by, orgId, look: () => publicView(deps, orgId) })
}

/** The same for members, published or not; for others as the public graph. @throws AppError as authorizeOrg */
export function openGraph(deps: Deps, by: By, at: OrgAt): Promise<OpenGraph> {
  return open({ deps, by, orgId: at.orgId, look: () => viewOf(deps, by.actor, at) })
}

/** The map of the graph, for the same people. @throws AppError as authorizeOrg; node_not_found: `under` */
export async function openMap(deps: Deps, by: By, at: OrgAt, map: MapPart): Promise<OpenGraph> {
  const { orgId } = at
  const opened = await open({ deps, by, orgId, map, look: () => viewOf(deps, by.actor, at) })
  if (map.under !== undefined && !(await findNode(deps.index.read, orgId, map.under)))
    throw new AppError('node_not_found', 'Node not found')
  return opened
}

type By = Pick<RequestContext, 'actor' | 'from'>

interface Wish {
  readonly deps: Deps
  readonly by: By
  readonly orgId: string
  /** Absent: the graph. */
  readonly map?: MapPart
  /** @throws AppError where the caller may not see it */
  look(): Promise<View>
}

async function open(wish: Wish): Promise<OpenGraph> {
  const { version } = await wish.look()
  return { version, read: () => read(wish, version) }
}

async function read(wish: Wish, version: string): Promise<GzippedGraph> {
  const known = drawn.get(keyOf(wish))
  if (known?.version === version) return known
  const made = await draw(wish, version)
  // Meanwhile the organisation may have been unpublished, or the member removed.
  const { isPublic } = await wish.look()
  if (made === undefined || (isPublic && !made.published))
    throw new AppError('busy', 'The organisation was changed just now; try again')
  return made
}

function keyOf({ orgId, map }: Wish): string {
  return map === undefined ? orgId : `${orgId} ${map.columns} ${map.under ?? ''}`
}

/** A caller's requests for the same version share one drawing; those for a newer one share the next, if it has not begun. */
function draw(wish: Wish, version: string): Promise<Drawn | undefined> {
  const { by, orgId } = wish
  const caller = callerOf(by)
  const key = `${keyOf(wish)} ${caller.key}`
  const latest = drawings.get(key)
  if (latest && (latest.version === version || !latest.begun)) return latest.graph
  const state = { version, begun: false }
  const graph = semaphore
    .run({ caller, orgId }, () => {
      state.begun = true
      // Another caller's turn may have come first.
      const known = drawn.get(keyOf(wish))
      return known?.version === version ? Promise.resolve(known) : drawNow(wish)
    })
    .finally(() => {
      if (drawings.get(key) === drawing) drawings.delete(key)
    })
  const drawing: Drawing = Object.assign(state, { graph })
  drawings.set(key, drawing)
  return graph
}

async function drawNow(wish: Wish): Promise<Drawn | undefined> {
  const { deps, orgId, map } = wish
  const began = performance.now()
  const file = join(deps.store.root, indexFile)
  const made = await drawInThread({ file, orgId, ...(map && { map }), known: figures.get(orgId) })
  deps.metrics.graphSeconds.observe((performance.now() - began) / 1000)
  if (made === undefined) return undefined
  drawn.set(keyOf(wish), made)
  figures.set(orgId, made.figures)
  return made
}

async function viewOf(deps: Deps, actor: Actor, at: OrgAt): Promise<View> {
  const { org, role } = await authorizeOrg(deps, actor, at, 'public')
  return { version: versionOf(org), isPublic: role === null }
}

/** One prepared statement: the whole cost for a client with a valid copy. @throws AppError org_not_found */
async function publicView(deps: Deps, orgId: string): Promise<View> {
  const state = isId(orgId) ? await findPublishedState(deps.index.read, orgId) : undefined
  if (state === undefined) throw new AppError('org_not_found', 'Organisation not found')
  return { version: versionOf(state), isPublic: true }
}

function sizeOf({ counted, places }: Figures): number {
  const parts: readonly ArrayBufferView[] = [...Object.values(counted), ...Object.values(places ?? {})]
  return parts.reduce((sum, part) => sum + part.byteLength, 1_000)
}

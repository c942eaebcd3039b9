/** The graph and the map of an organisation, cached as the bytes to send. */
import { join } from 'node:path'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { findNode } from '../../../index/derived/node-queries.ts'
import { findPublishedState } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg, orgNotFoundError, seesOf } from '../../domain/access.ts'
import { callerOf } from '../../domain/actor.ts'
import { createCallerSemaphore } from '../../domain/caller-semaphore.ts'
import { findVisibleOrg } from '../../domain/indexing/freshness.ts'
import { indexFile, isId } from '../../domain/layout.ts'
import type { Ctx, RequestCtx, Services } from '../../domain/services.ts'
import type { OrgAt, Path, Query } from '../../domain/targets.ts'
import { versionOf } from './graph-drawing.ts'
import { type Drawn, drawInThread, type Figures } from './graph-thread.ts'
import type { MapPart } from './map-drawing.ts'

interface GzippedGraph {
  /** Identifies this state of the graph among all organisations. It is the same in every process. */
  readonly version: string
  /** Gzipped JSON of a PublicGraph or a GraphMap. */
  readonly gzip: Uint8Array<ArrayBuffer>
  /** Bytes of that JSON. */
  readonly length: number
}

/** A graph at a version, whose content is not read yet. */
interface OpenGraph {
  readonly version: string
  /**
   * Returns the graph at this version or a later one. It is cached, or drawn in a thread.
   *
   * @throws AppError busy; as the function that opened it, if the caller has lost access since
   * @throws the errors of drawInThread
   */
  read(): Promise<GzippedGraph>
}

/**
 * Drawings, by organisation and part. Read only after the organisation's row says which version the caller may see.
 * Publishing also changes the version.
 */
const drawn = createCache<Drawn>('graph_drawings', {
  sizeCalculation: ({ gzip }) => gzip.byteLength + 1_000,
})

/** Figures from which the graph and the map are drawn, by organisation. */
const figures = createCache<Figures>('graph_figures', { sizeCalculation: sizeOf })

/** Limits drawings of this process: the thread handles one at a time. */
const semaphore = createCallerSemaphore({
  all: { running: 1, waiting: 256 },
  person: { running: 1, waiting: 32 },
  address: { running: 1, waiting: 16 },
  anonymous: { running: 1, waiting: 192 },
  waitTimeoutMs: 60_000,
  refusal: 'Too many graphs and maps are being drawn; try again in a moment',
})

/** A drawing that is requested or running. */
interface Drawing {
  /** The organisation's version at the time of the request. The drawn version may be later. */
  readonly version: string
  begun: boolean
  readonly graph: Promise<Drawn | undefined>
}

/** The latest drawing by organisation, part and caller. No caller waits for another caller's turn. */
const drawings = new Map<string, Drawing>()

/** The version of an organisation that a caller may see now. */
interface View {
  readonly version: string
  /** True if the caller is not a member. Such a caller may see only states in which the organisation was published. */
  readonly isPublic: boolean
}

/**
 * Opens the public graph, without regard to the caller. Unknown and unpublished organisations get the same refusal.
 *
 * @throws AppError org_not_found
 */
export function getPublicGraph(ctx: RequestCtx, { path: { org_id: orgId } }: Path<OrgAt>): Promise<OpenGraph> {
  return open({ ctx, orgId, look: () => publicView(ctx, orgId) })
}

interface GraphQuery {
  readonly under?: string
}

/**
 * Opens the graph: for members always, for other callers if it is published.
 *
 * @param query `under` opens only the part of this node and its descendants
 * @throws AppError as authorizeOrg; node_not_found: `under`
 */
export function getGraph(ctx: RequestCtx, { path, query }: Path<OrgAt> & Query<GraphQuery>): Promise<OpenGraph> {
  return openPart({ ctx, orgId: path.org_id, ...query, look: () => viewOf(ctx, path) }, query.under)
}

interface MapQuery extends GraphQuery {
  readonly columns?: boolean
  readonly layout?: 'whole' | 'part'
}

/** Opens the map of the graph, for the same callers. @throws AppError as authorizeOrg; node_not_found: `under` */
export function openMap(ctx: RequestCtx, { path, query }: Path<OrgAt> & Query<MapQuery>): Promise<OpenGraph> {
  const { columns = true, layout, under } = query
  const part = under === undefined ? {} : { under }
  const drawing = layout === 'part' ? { ...part, map: { columns } } : { map: { columns, ...part } }
  return openPart({ ctx, orgId: path.org_id, ...drawing, look: () => viewOf(ctx, path) }, under)
}

async function openPart(wish: Wish, under: string | undefined): Promise<OpenGraph> {
  const opened = await open(wish)
  if (under !== undefined && !(await findNode(wish.ctx.index.read, seesOf(wish.orgId), under)))
    throw new AppError('node_not_found', 'Node not found')
  return opened
}

interface Wish {
  readonly ctx: RequestCtx
  readonly orgId: string
  /** Only this node and its descendants, as if they were the organisation. */
  readonly under?: string
  /** The part of the map; absent: the graph. */
  readonly map?: MapPart
  /** Checks access. @throws AppError if the caller may not see it */
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
  // The organisation may have been unpublished since, or the member removed.
  const { isPublic } = await wish.look()
  if (made === undefined || (isPublic && !made.published))
    throw new AppError('busy', 'The organisation has changed since the drawing began; try again')
  return made
}

function keyOf({ orgId, under = '', map }: Wish): string {
  return `${orgId} ${under} ${map ? `${map.columns} ${map.under ?? ''}` : ''}`
}

/**
 * Draws, or joins a drawing of the same caller. Requests for one version share a drawing. Requests for a newer version
 * share the next drawing, if it has not begun.
 */
function draw(wish: Wish, version: string): Promise<Drawn | undefined> {
  const { ctx, orgId } = wish
  const caller = callerOf(ctx)
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
  const { ctx, orgId, under, map } = wish
  const began = performance.now()
  const file = join(ctx.store.root, indexFile)
  const part = under === undefined ? { known: figures.get(orgId) } : { under, known: undefined }
  const made = await drawInThread({ file, orgId, ...part, ...(map && { map }) })
  ctx.metrics.graphSeconds.observe((performance.now() - began) / 1000)
  if (made === undefined) return undefined
  drawn.set(keyOf(wish), made)
  if (made.figures) figures.set(orgId, made.figures)
  return made
}

async function viewOf(ctx: Ctx, at: OrgAt): Promise<View> {
  const { org, role } = await authorizeOrg(ctx, at, 'public')
  return { version: versionOf(org), isPublic: role === null }
}

/**
 * Reads the version. A client with a valid copy costs only this, one prepared statement.
 *
 * @throws AppError org_not_found, org_needs_newer_version
 */
async function publicView(deps: Services, orgId: string): Promise<View> {
  const state = isId(orgId) ? await findPublishedState(deps.index.read, orgId) : undefined
  // The row of a closed organisation is not published. If it was, the answer says that it is closed.
  if (state === undefined) await findVisibleOrg(deps, orgId)
  if (state === undefined) throw orgNotFoundError()
  return { version: versionOf(state), isPublic: true }
}

function sizeOf({ counted, places }: Figures): number {
  const parts: readonly ArrayBufferView[] = [...Object.values(counted), ...Object.values(places ?? {})]
  return parts.reduce((sum, part) => sum + part.byteLength, 1_000)
}

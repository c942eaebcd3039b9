/** Exports an organisation as a folder of Markdown. Each node is a note, with its files next to it. */
import { posix } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError, isGitError, isStorageError } from '../../../../gitstore/errors.ts'
import { pathProblem } from '../../../../gitstore/names.ts'
import { blobSize, streamBlob } from '../../../../gitstore/objects/blob-stream.ts'
import { readCommit } from '../../../../gitstore/objects/commits.ts'
import { readBlob } from '../../../../gitstore/objects/objects.ts'
import { findEntry, listFiles } from '../../../../gitstore/objects/trees.ts'
import { readRef } from '../../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../../gitstore/repo.ts'
import type { Sees } from '../../../../index/derived/sees.ts'
import { openSubtree } from '../../../../index/derived/subtrees.ts'
import * as limits from '../../../base/limits.ts'
import type { ArchiveFile } from '../../../domain/archive.ts'
import { type NodeContent, readContent, readText } from '../../../domain/format/node-format.ts'
import { edgeIdAt, nodeFile, textFile } from '../../../domain/format/paths.ts'
import { main, nodeRepo } from '../../../domain/layout.ts'
import type { Services } from '../../../domain/services.ts'
import { withoutEnding } from '../../../markdown/note-names.ts'
import { attachments, filePath, placeBeside, sourceFilesIn, sourceFilesKey } from '../../../markdown/vault-paths.ts'
import { type StatedSource, sourcePathKey } from '../read/statement.ts'
import { listExportRows } from '../rows/export-queries.ts'
import { type ExportedNote, headOf } from './exported-note.ts'
import { type LaidNode, layOut, TakenPaths } from './layout.ts'

/** A file with its path from the exported folder, and the time of its commit. */
export interface ExportedFile extends ArchiveFile {
  /** The id of the node, if the file is its note. */
  readonly nodeId?: string
}

export interface ExportOptions {
  readonly signal: AbortSignal
  /** Called occasionally between two nodes, because an export takes minutes. Its errors end the export. */
  readonly checkAccess?: () => Promise<void>
  /**
   * Called with a note whose repository cannot be read, which is then skipped.
   *
   * Without it, the fault ends the export.
   */
  readonly onFault?: (path: string, fault: GitError) => void
  /** The id of a node. Only this node and its descendants are exported, with their paths in the whole export. */
  readonly under?: string
  /** Only these nodes are exported, with their paths in the whole export. Edges to other nodes are left out. */
  readonly only?: ReadonlySet<string>
  /** Called before each node. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Number of nodes between two calls of `checkAccess`. */
const nodesPerCheck = 200
/** Milliseconds of work between two turns of the event loop. */
const turnMs = 5
/** UTF-16 units of a node's text that are searched for the names of its files. Later files count as not named. */
const mostLookedThrough = 2 ** 30

/**
 * Yields the files of an export.
 *
 * The notes come in the order of their paths, each followed by the files of its node that no earlier note has. The
 * paths of all nodes are fixed at the beginning. The commit of a node is fixed at its turn. A node that is deleted in
 * the meantime is skipped. It holds the ids and paths of all nodes, and one note, in memory.
 *
 * @throws GitError from the reading functions; the reason of the signal
 */
export async function* exportFiles(deps: Services, sees: Sees, options: ExportOptions): AsyncGenerator<ExportedFile> {
  const { signal } = options
  const nodes = await nodesOf(deps, sees, signal)
  const taken = new TakenPaths()
  const all = await layOut([...nodes.values()], taken)
  const chosen = options.under === undefined ? all : await belowIn(deps, sees, options.under, all.keys())
  const { only } = options
  const placed = [...all].filter(([id]) => chosen.has(id) && only?.has(id) !== false)
  placed.sort(([, a], [, b]) => (a < b ? -1 : 1))
  for (const [done, [id, path]] of placed.entries()) {
    signal.throwIfAborted()
    if (done > 0 && done % nodesPerCheck === 0) await options.checkAccess?.()
    options.onProgress?.(done, placed.length)
    const repo = nodeRepo(deps.store, sees.orgId, id)
    const { title = '', createdAt = '' } = nodes.get(id) ?? {}
    try {
      const node = { id, path, title, time: Math.floor(Date.parse(createdAt) / 1_000) }
      yield* filesOf({ targets: only ?? nodes, taken, signal }, node, repo)
    } catch (error) {
      if (isGitError(error, 'repo_missing')) continue
      if (!options.onFault || !(error instanceof GitError) || isStorageError(error)) throw error
      options.onFault(path, error)
    }
  }
  options.onProgress?.(placed.length, placed.length)
}

function belowIn({ index }: Services, sees: Sees, under: string, ids: Iterable<string>): Promise<ReadonlySet<string>> {
  return openSubtree(index.read, sees, under).select(ids)
}

type ExportedNode = LaidNode & { readonly createdAt: string }

async function nodesOf({ index }: Services, sees: Sees, signal: AbortSignal): Promise<Map<string, ExportedNode>> {
  const nodes = new Map<string, ExportedNode>()
  for await (const rows of listExportRows(index.read, sees)) {
    signal.throwIfAborted()
    for (const { id, title, source, parent, created_at } of rows)
      nodes.set(id, {
        ...{ id, title, createdAt: created_at, parent: parent ?? undefined },
        source: typeof source === 'string' ? source : undefined,
      })
  }
  return nodes
}

/** The shared state of one export. */
interface Exporting {
  /** The ids of the nodes to which edges lead. */
  readonly targets: { has(id: string): boolean }
  readonly taken: TakenPaths
  readonly signal: AbortSignal
}

/** Yields the note of a node, then its files. */
async function* filesOf({ targets, taken, signal }: Exporting, node: Placed, repo: Repo): AsyncGenerator<ExportedFile> {
  const head = readRef(repo, main)
  const commit = head === null ? undefined : await readCommit(repo, head)
  const tree = commit?.tree ?? null
  const time = commit?.committer.timestamp ?? node.time
  const content = await readContent(repo, tree)
  const text = tree === null ? undefined : await findEntry(repo, tree, textFile)
  const size = text?.mode === '100644' ? await blobSize(repo, text.oid) : 0
  const { files, own, areBeside } = tree === null ? noFiles : await placeFiles(taken, node, repo, tree, content)
  const note: ExportedNote = {
    id: node.id,
    title: content.title ?? node.title,
    tags: content.tags,
    properties: withoutSource(content),
    source: sourceOf(node, content, areBeside),
    others: await otherMembers(repo, content),
    parents: content.parents.filter(({ id }) => targets.has(id)),
    connections: content.connections.filter(({ target }) => targets.has(target)),
    files,
    text: text && size > 0 ? text.oid : '',
  }
  const start = Buffer.from(await headOf(note))
  yield {
    ...{ path: node.path, nodeId: node.id, size: start.length + size, time },
    read: async function* () {
      yield start
      if (text && size > 0) yield* streamBlob(repo, text.oid, size, { from: 0, to: size }, signal)
    },
  }
  for (const { path, oid } of own) {
    signal.throwIfAborted()
    const bytes = await blobSize(repo, oid)
    const read = () => streamBlob(repo, oid, bytes, { from: 0, to: bytes }, signal)
    yield { path, size: bytes, time, read }
  }
}

/** Chooses the path of each repository file. Also returns the files that no earlier note has. */
async function placeFiles(taken: TakenPaths, node: Placed, repo: Repo, tree: Oid, content: NodeContent) {
  const places = new Map<string, string>()
  const own: { path: string; oid: Oid }[] = []
  let areBeside = true
  const sources = sourceFilesIn(content.properties)
  const numbers = { next: 2 }
  let text: string | undefined
  let looked = 0
  let turn = performance.now()
  for (const { path, mode, oid } of await listFiles(repo, tree)) {
    if ((mode !== '100644' && mode !== '100755') || isOwn(path) || pathProblem(path) !== undefined) continue
    if (path.startsWith(attachments)) text ??= await textNaming(repo, content)
    const beside = placeBeside(node.path, path, looked < mostLookedThrough ? (text ?? '') : '')
    looked += 2 * (text ?? '').length
    for (const place of filePlaces(node, path, sources.get(path) ?? beside, numbers)) {
      const isNew = taken.claim(place, `${oid} ${place}`)
      if (!isNew && taken.contentAt(place) !== `${oid} ${place}`) continue
      places.set(path, place)
      areBeside &&= place === beside
      if (isNew) own.push({ path: place, oid })
      break
    }
    if (performance.now() - turn < turnMs) continue
    await nextTurn()
    turn = performance.now()
  }
  return { files: places, own, areBeside }
}

interface Placed {
  readonly id: string
  readonly path: string
  readonly title: string
  /** Seconds since 1970. */
  readonly time: number
}

/** True if the front matter or the text already has the content of the file. */
function isOwn(path: string): boolean {
  const isEdge = edgeIdAt('parents', path) ?? edgeIdAt('connections', path)
  return path === nodeFile || path === textFile || isEdge !== undefined
}

/** Returns the node's text; '' if it does not name a file below `attachments/`. */
async function textNaming(repo: Repo, content: NodeContent): Promise<string> {
  const text = await readText(repo, content)
  return text.includes(attachments) ? text : ''
}

/** Returns paths for a file of a node, best first. Its files share `numbers`, so none is tried twice. */
function* filePlaces(node: Placed, path: string, home: string, numbers: { next: number }): Generator<string> {
  const folder = posix.dirname(node.path)
  const safe = filePath(path)
  yield home
  yield posix.join(folder, safe)
  yield posix.join(folder, `${posix.basename(withoutEnding(node.path))}.files`, safe)
  yield posix.join(`${node.id}.files`, safe)
  for (;;) yield posix.join(`${node.id}.files`, String(numbers.next++), safe)
}

/** Returns the properties without those that are in the statement. */
function withoutSource({ properties }: NodeContent): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !sourceKeys.includes(key)))
}

const sourceKeys: readonly string[] = [sourcePathKey, sourceFilesKey]

/** Returns the stated source. Undefined if an import of the note would set the same. */
function sourceOf({ path }: Placed, { properties }: NodeContent, areBeside: boolean): StatedSource | undefined {
  const { [sourcePathKey]: own, [sourceFilesKey]: files } = properties
  return own === path && files === undefined && areBeside ? undefined : { at: path, path: own, files }
}

const noFiles = { files: new Map<string, string>(), own: [], areBeside: true }

async function otherMembers(repo: Repo, { jsonBlob }: NodeContent): Promise<Readonly<Record<string, unknown>>> {
  if (jsonBlob === undefined) return {}
  const members = JSON.parse((await readBlob(repo, jsonBlob, limits.nodeJsonBytes)).toString()) as object // readContent has read it so
  return Object.fromEntries(Object.entries(members).filter(([key]) => !['title', 'tags', 'properties'].includes(key)))
}

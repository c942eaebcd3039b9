/** The links in a node's content, each with its position and its destination. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { listSources } from '../../../index/derived/source-paths.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { piecesOf } from '../../markdown/markdown-facts.ts'
import { type NodeResolver, nodeResolver } from '../../markdown/vault-nodes.ts'
import type { WrittenLink } from '../../markdown/written-links.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import { callerOf } from '../actor.ts'
import { type FileFacts, readFileFacts } from '../branches/file-facts.ts'
import { type ImmutableAnswer, immutableAnswer } from '../branches/immutable-answers.ts'
import { readTree, resolveRevision } from '../branches/revisions.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { type NodeContent, readContent } from '../format/node-format.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { NodeAt, Path, Query } from '../targets.ts'
import { type Destination, destinationsOf } from './link-destinations.ts'
import { withMains } from './linked-nodes.ts'

/** The most characters of a target in the response. */
const targetCharacters = 2_000
/** UTF-16 units read between two turns of the event loop. */
const unitsPerTurn = 8_192
/**
 * Milliseconds between two turns of the event loop, and in all. A name that thousands of files share takes long to
 * find.
 */
const turnMs = 5

const tooLarge = 'The content has over 512 KiB; read it and parse it yourself'

/** Limits concurrent reads. In the worst case, one takes 2 s of CPU time and 200 MB. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 768 },
  person: { running: 1, waiting: 256 },
  anonymous: { running: 1, waiting: 512 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many link lists are being computed; try again in a moment',
})

/** Resolvers, by organisation and its version. There is room for three with the most sources. */
const resolvers = createCache<{ readonly resolve: NodeResolver; readonly size: number }>('link_sources', {
  sizeCalculation: ({ size }) => size + 1,
})

const nowhere: NodeResolver = { byPath: () => undefined, byAlias: () => undefined }

/** Milliseconds after which no more facts of files are read. */
const maxFactsMs = 5_000

type LinkedFile = NonNullable<Destination['file']> & Partial<FileFacts>
export type ListedLink = WrittenLink & Omit<Destination, 'file'> & { readonly file?: LinkedFile }

interface Links {
  readonly node_id: string
  readonly commit_id?: Oid
  readonly object_id?: Oid
  readonly links: readonly ListedLink[]
  readonly truncated: boolean
}

/**
 * Lists the links in a node's content. Content and files are those of the revision. The nodes of the organisation, with
 * their titles, aliases and `source_path`, are the current ones.
 *
 * @throws AppError as authorizeNode, branch_not_found, too_large, busy; the signal's reason
 */
export async function listLinks(
  ctx: RequestCtx,
  { path, query: { revision = 'main' } }: Path<NodeAt> & Query<{ readonly revision?: string }>,
): Promise<ImmutableAnswer<Links>> {
  const access = await authorizeNode(ctx, path, 'public')
  return readLinksOf(ctx, access, await resolveRevision(access, revision))
}

/** Lists the links at a commit. @throws AppError too_large, busy; the signal's reason */
export async function readLinksOf(
  ctx: RequestCtx,
  access: NodeAccess,
  head: Oid | null,
): Promise<ImmutableAnswer<Links>> {
  const { node, org } = access
  // Read before the rows: the response may be cached under an older version than its own, never under a newer one.
  const { epoch, version } = org
  const seen = access.onlyNode === undefined ? '' : ' of this node'
  return immutableAnswer(`links ${node.id} ${head} ${epoch} ${version}${seen}`, sizeOf, () =>
    semaphore.run({ caller: callerOf(ctx), signal: ctx.request.signal }, () =>
      linksAt(ctx, access, head, `${org.id} ${epoch} ${version}`),
    ),
  )
}

async function linksAt(ctx: RequestCtx, access: NodeAccess, head: Oid | null, version: string): Promise<Links> {
  const { node, repo } = access
  const none = { node_id: node.id, links: [], truncated: false }
  if (head === null) return none
  const tree = await readTree(repo, head)
  const content = await readContent(repo, tree)
  if (content.textBlob === undefined) return { ...none, commit_id: head }
  const bytes = await readBlob(repo, content.textBlob, limits.linkedTextBytes).catch((error: unknown) => {
    throw isGitError(error, 'limit_exceeded') ? new AppError('too_large', tooLarge, {}, { cause: error }) : error
  })
  const { written, truncated } = await writtenIn(bytes.toString('utf8'))
  const resolve = written.length === 0 ? nowhere : await resolverOf(ctx, access, version)
  const links: ListedLink[] = []
  const began = performance.now()
  let [characters, turn] = [0, began]
  const connections = await connectionsAt(access, head, content)
  const known = { tree, content: { ...content, connections }, resolve, links: written }
  for await (const destination of destinationsOf(ctx, access, known)) {
    const link = written[links.length]
    if (!link) break
    const listed = { ...link, target: link.target.slice(0, targetCharacters), ...destination }
    characters += lengthOf(listed)
    const now = performance.now()
    if (characters > limits.linkCharacters || now - began > limits.linksMs) break
    links.push(listed)
    if (now - turn < turnMs) continue
    await nextTurn()
    turn = performance.now()
  }
  return {
    ...{ node_id: node.id, commit_id: head, object_id: content.textBlob, links: await withFacts(repo, links) },
    truncated: truncated || links.length < written.length,
  }
}

async function connectionsAt({ node, repo }: NodeAccess, head: Oid, { connections }: NodeContent) {
  if (head === node.head || node.head === null) return connections
  const main = await readContent(repo, await readTree(repo, node.head))
  return withMains(connections, main.connections)
}

async function writtenIn(text: string): Promise<{ written: WrittenLink[]; truncated: boolean }> {
  const written: WrittenLink[] = []
  const beginning = firstLines(text, limits.linkedTextLines)
  let truncated = beginning.length < text.length
  let units = 0
  for (const { links, length, isSkipped } of piecesOf(beginning, limits.linkBlockUnits)) {
    if (isSkipped) truncated = true
    for (const link of links) written.push(link)
    units += length + 20
    if (written.length > limits.links) return { written: written.slice(0, limits.links), truncated: true }
    if (units < unitsPerTurn) continue
    units = 0
    await nextTurn()
  }
  return { written, truncated }
}

/** Adds size, type and dimensions to the links that lead to files of the node. */
async function withFacts(repo: NodeAccess['repo'], links: readonly ListedLink[]): Promise<ListedLink[]> {
  const files = new Map(
    links.flatMap(({ file }) => (file?.object_id === undefined ? [] : [[file.path, file.object_id]])),
  )
  const began = performance.now()
  const oneOfFew = pLimit(4)
  const read = [...files].slice(0, limits.linkFacts).map(([path, oid]) =>
    oneOfFew(async () => {
      const isLate = performance.now() - began > maxFactsMs
      return [path, isLate ? undefined : await readFileFacts(repo, oid, path)] as const
    }),
  )
  const facts = new Map(await Promise.all(read))
  return links.map((link) =>
    link.file === undefined ? link : { ...link, file: { ...link.file, ...facts.get(link.file.path) } },
  )
}

/** The text up to the end of its `count`-th line. */
function firstLines(text: string, count: number): string {
  const end = /\r\n?|\n/g
  for (let line = 0; line < count; line++) if (end.exec(text) === null) return text
  return text.slice(0, end.lastIndex)
}

/**
 * Resolves links among the nodes of the organisation. A token that is limited to one node gets only that node:
 * otherwise it could find out ids by titles in its content.
 */
async function resolverOf({ index }: Services, { sees, onlyNode }: NodeAccess, version: string): Promise<NodeResolver> {
  const key = onlyNode === undefined ? version : `${version} ${onlyNode}`
  const known = resolvers.get(key)
  if (known) return known.resolve
  const all = await listSources(index.read, sees, limits.linkSources)
  const sources = onlyNode === undefined ? all : all.filter(({ id }) => id === onlyNode)
  const resolve = await nodeResolver(sources)
  resolvers.set(key, { resolve, size: sources.length })
  return resolve
}

function lengthOf({ text, target, definition, node, file }: ListedLink): number {
  const named =
    (node ? 60 + node.title.length + (node.heading ?? node.block ?? '').length : 0) +
    (file ? 150 + file.path.length : 0)
  return 150 + text.length + target.length + (definition?.label.length ?? 0) + named
}

function sizeOf({ links }: Links): number {
  return links.reduce((sum, link) => sum + lengthOf(link), 400)
}

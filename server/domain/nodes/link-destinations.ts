/** The destinations of links: nodes, files of the node's repository, other hosts, or nothing. */
import { posix } from 'node:path'
import * as gitLimits from '../../../gitstore/limits.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { decoded, type Resolve } from '../../markdown/link-resolver.ts'
import { isOutside, type Link, linkOf } from '../../markdown/markdown-facts.ts'
import { folded, isMarkdown } from '../../markdown/note-names.ts'
import { fileResolver, type NodeResolver, type VaultNode } from '../../markdown/vault-nodes.ts'
import { attachments, namedPath } from '../../markdown/vault-paths.ts'
import type { WrittenLink } from '../../markdown/written-links.ts'
import type { NodeAccess } from '../access.ts'
import { createLargeRead } from '../branches/large-reads.ts'
import type { NodeContent } from '../format/node-format.ts'
import { liesIn, nodeFile, textFile } from '../format/paths.ts'
import type { RequestCtx } from '../services.ts'
import { type ConnectedNodes, connectedNodes, namedNodes } from './linked-nodes.ts'

export interface Destination {
  readonly kind: 'node' | 'file' | 'outside' | 'missing'
  readonly node?: VaultNode & { readonly heading?: string; readonly block?: string }
  readonly file?: { readonly path: string; readonly exists: boolean; readonly object_id?: Oid }
  /** The reason why it is missing. `deleted`: an import made it a connection, and the target node was deleted. */
  readonly reason?: 'empty' | 'above_root' | 'deleted' | 'not_found'
}

interface Known {
  readonly tree: Oid
  readonly content: NodeContent
  readonly resolve: NodeResolver
  readonly links: readonly WrittenLink[]
}

/** The most characters of a heading or block in the response. */
const anchorCharacters = 500

const tooManyFiles = 'This tree has over 100,000 files and folders, 64 levels or 16 MiB of paths. Clone the node'

/**
 * Yields the destination of each link, in order.
 *
 * @throws AppError too_large, busy: the repository's tree; the signal's reason
 */
export async function* destinationsOf(ctx: RequestCtx, access: NodeAccess, known: Known): AsyncGenerator<Destination> {
  const { node } = access
  const { content, resolve, links } = known
  const own = content.properties.source_path
  const source = typeof own === 'string' ? own : undefined
  const connected = await connectedNodes(ctx, access, content.connections, source !== undefined)
  const byPath = (link: Link) => unlessMade(connected, link, resolve.byPath(source ?? textFile, link), node.id)
  let inNode: InNode | undefined
  for (const link of links) {
    const path = linkOf(link)
    const found = path && byPath(path)
    if (isOutside(link.form, link.target)) yield { kind: 'outside' }
    else if (found) yield toNode(found, link)
    else if (path) {
      const paths = inNode ? [] : links.map(linkOf).filter((one) => one !== undefined && !byPath(one))
      inNode ??= await lookInto(ctx, access, { ...known, source, connected, paths })
      yield inNode(link, path)
    } else yield link.target.startsWith('#') ? toNode(node, link) : { kind: 'missing', reason: 'empty' }
  }
}

/**
 * Returns the node that a path leads to, or the one that was linked. The latter has a connection that was made from this
 * name. It wins over a node that was imported to such a path since, and to which the text has no connection.
 */
function unlessMade(
  connected: ConnectedNodes,
  link: Link,
  found: VaultNode | undefined,
  self: string,
): VaultNode | undefined {
  if (!found || found.id === self || connected.leadsTo(link.type, found.id)) return found
  const made = connected.made(link)
  return made === undefined || made === 'deleted' ? found : made
}

/** Resolves a link that does not match the path of a node. */
type InNode = (link: WrittenLink, path: Link) => Destination

interface Unresolved extends Known {
  readonly source: string | undefined
  readonly connected: ConnectedNodes
  /** The links that do not match the path of a node. */
  readonly paths: readonly (Link | undefined)[]
}

/** Returns a function that resolves links by the node's files and connections, and by names. */
async function lookInto(
  ctx: RequestCtx,
  access: NodeAccess,
  { tree, content, resolve, source, connected, paths }: Unresolved,
): Promise<InNode> {
  const listed = await createLargeRead(ctx)(tooManyFiles, (pace) => listFiles(access.repo, tree, { pace }))
  const plain = listed.filter(({ path, mode }) => mode !== '160000' && isPlain(path))
  const files = plain.map(({ path }) => path)
  const oids = new Map(plain.map(({ path, oid }) => [path, oid]))
  const findFile = filesFrom(source ?? textFile, files)
  const byConnection = (path: Link) => {
    const made = connected.made(path)
    return made === undefined ? connected.titled(path) : made
  }
  const unknown = paths.filter((path) => path !== undefined).filter((path) => !isNode(byConnection(path)))
  const { connections } = content
  const naming = { connections, isImported: source !== undefined, byAlias: resolve.byAlias }
  const findNamed = await namedNodes(ctx, access, unknown, naming)
  return (link, path) => {
    const file = findFile(path)
    const oid = file === undefined ? undefined : oids.get(file)
    if (file !== undefined && oid !== undefined)
      return { kind: 'file', file: { path: file, exists: true, object_id: oid } }
    const found = byConnection(path)
    const named = isNode(found) ? found : findNamed(path)
    if (named) return toNode(named, link)
    return found === 'deleted' ? { kind: 'missing', reason: 'deleted' } : absent(path, source)
  }
}

function isNode(found: VaultNode | 'deleted' | undefined): found is VaultNode {
  return found !== undefined && found !== 'deleted'
}

function isPlain(path: string): boolean {
  return path !== nodeFile && path !== textFile && !liesIn('parents', path) && !liesIn('connections', path)
}

/**
 * Returns a function that finds the file of a link. It tries the exact path first, then the path in the vault below
 * `attachments/`, then the path in the repository.
 */
function filesFrom(from: string, files: readonly string[]): (link: Link) => string | undefined {
  const all = new Set(files)
  const some = files.slice(0, limits.linkFiles)
  const isKept = (path: string) => folded(path.slice(0, attachments.length)) === attachments
  const kept = new Map(some.filter(isKept).map((path) => [path.slice(attachments.length), path]))
  const findKept: Resolve = fileResolver([...kept.keys()])
  const findPlain: Resolve = fileResolver(some)
  return (link) => {
    const named = namedPath(link)
    if (named !== undefined && all.has(named)) return named
    const found = findKept(from, link)
    return found === undefined ? findPlain(textFile, link) : kept.get(found)
  }
}

function toNode({ id, title }: VaultNode, { form, target }: WrittenLink): Destination {
  const at = target.indexOf('#')
  const written = at < 0 ? '' : target.slice(at + 1)
  const anchor = (form === 'wikilink' ? written : decoded(written)).trim().slice(0, anchorCharacters)
  if (anchor === '') return { kind: 'node', node: { id, title } }
  const named = anchor.startsWith('^') ? { block: anchor.slice(1) } : { heading: anchor }
  return { kind: 'node', node: { id, title, ...named } }
}

/** A link to nothing. If its path names a file that is not a note, the result has the path where the file would be. */
function absent(link: Link, source: string | undefined): Destination {
  const { target, form } = link
  const folder = source === undefined ? '.' : posix.dirname(source)
  const written = form === 'path' ? decoded(target).replaceAll('\\', '/') : target
  const path = written.startsWith('/') ? posix.normalize(written).slice(1) : posix.join(folder, written)
  if (path === '..' || path.startsWith('../')) return { kind: 'missing', reason: 'above_root' }
  const ending = posix.extname(path)
  const isFile = form === 'path' && /^\.\w{1,10}$/.test(ending) && !isMarkdown(path) && !/^\.html?$/i.test(ending)
  const place = namedPath(link) ?? (source === undefined ? path : attachments + path)
  return isFile && Buffer.byteLength(place) <= gitLimits.pathBytes
    ? { kind: 'file', file: { path: place, exists: false } }
    : { kind: 'missing', reason: 'not_found' }
}

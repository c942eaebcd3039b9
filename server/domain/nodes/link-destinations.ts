/** The destinations of links: nodes, files of the node's repository, other hosts, or nothing. */
import { posix } from 'node:path'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { titlesOf } from '../../../index/derived/source-paths.ts'
import type { Deps } from '../../base/deps.ts'
import { keyOfName, slugIn, slugOf } from '../../markdown/connection-ids.ts'
import { decoded, type Resolve } from '../../markdown/link-resolver.ts'
import { isOutside, type Link, linkOf, linkTypes } from '../../markdown/markdown-facts.ts'
import { folded, isMarkdown, withoutEnding } from '../../markdown/note-names.ts'
import { fileResolver, type ResolveNode, type VaultNode } from '../../markdown/vault-nodes.ts'
import { attachments, namedPath } from '../../markdown/vault-paths.ts'
import type { WrittenLink } from '../../markdown/written-links.ts'
import type { NodeAccess } from '../access.ts'
import type { RequestContext } from '../actor.ts'
import { createLargeRead } from '../branches/large-reads.ts'
import type { ConnectionEntity, NodeContent } from '../format/node-format.ts'
import { liesIn, nodeFile, textFile } from '../format/paths.ts'

export interface Destination {
  readonly kind: 'node' | 'file' | 'outside' | 'missing'
  readonly node?: VaultNode & { readonly heading?: string; readonly block?: string }
  readonly file?: { readonly path: string; readonly exists: boolean }
  /** The reason why it is missing. `deleted`: an import made it a connection, and the target node was deleted. */
  readonly reason?: 'empty' | 'above_root' | 'deleted' | 'not_found'
}

interface Known {
  readonly tree: Oid
  readonly content: NodeContent
  readonly resolve: ResolveNode
  readonly links: readonly WrittenLink[]
}

/** The most files of a repository that are searched for a name. */
const maxFiles = 10_000
const maxPathBytes = 1_024
/** The most characters of a heading or block in the response. */
const anchorCharacters = 500

const tooManyFiles = 'This tree has over 100,000 files and folders, 64 levels or 16 MiB of paths. Clone the node'

/**
 * Yields the destination of each link, in order.
 *
 * @throws AppError too_large, busy: the repository's tree; the signal's reason
 */
export async function* destinationsOf(
  deps: Deps,
  context: RequestContext,
  access: NodeAccess,
  known: Known,
): AsyncGenerator<Destination> {
  const { node } = access
  const { content, resolve, links } = known
  const own = content.properties.source_path
  const source = typeof own === 'string' ? own : undefined
  let inNode: InNode | undefined
  for (const link of links) {
    const path = linkOf(link)
    const found = path && resolve(source ?? textFile, path)
    if (isOutside(link.form, link.target)) yield { kind: 'outside' }
    else if (found) yield toNode(found, link)
    else if (path) {
      inNode ??= await lookInto(deps, context, access, known, source)
      yield inNode(link, path)
    } else yield link.target.startsWith('#') ? toNode(node, link) : { kind: 'missing', reason: 'empty' }
  }
}

/** Resolves a link that does not match the path of a node. */
type InNode = (link: WrittenLink, path: Link) => Destination

/** Returns a function that resolves links by the files and connections of the node. */
async function lookInto(
  { index }: Deps,
  context: RequestContext,
  { repo, org, onlyNode }: NodeAccess,
  { tree, content }: Known,
  source: string | undefined,
): Promise<InNode> {
  const listed = await createLargeRead(context)(tooManyFiles, (pace) => listFiles(repo, tree, { pace }))
  const files = listed.filter(({ path, mode }) => mode !== '160000' && isPlain(path)).map(({ path }) => path)
  const findFile = filesFrom(source ?? textFile, files)
  // A token that is limited to one node sees no titles of others, and so cannot learn which connection has a title.
  const connections = onlyNode === undefined ? content.connections : []
  const ids = [...new Set(connections.map(({ target }) => target))]
  const titles = await titlesOf(index.read, org.id, ids)
  const findConnected = connectedNodes(connections, titles, source !== undefined)
  return (link, path) => {
    const file = findFile(path)
    if (file !== undefined) return { kind: 'file', file: { path: file, exists: true } }
    const connected = findConnected(path)
    if (connected === 'deleted') return { kind: 'missing', reason: 'deleted' }
    return connected ? toNode(connected, link) : absent(path, source)
  }
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
  const some = files.slice(0, maxFiles)
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

/**
 * Returns a function that resolves a link by the node's connections. It prefers a connection that was made from a link
 * with this name, even if its target has moved since. Otherwise it takes one whose target has this title.
 *
 * A connection made from a link of one type, or from a canvas, does not resolve links of another type. The import knew
 * the path of those, and resolved them differently or not at all. Imports name connections by paths, so names that
 * differ only in punctuation share one slug. Such a slug resolves a link only in a node that an import has made.
 */
function connectedNodes(
  connections: readonly ConnectionEntity[],
  titles: ReadonlyMap<string, string>,
  isImported: boolean,
): (link: Link) => VaultNode | 'deleted' | undefined {
  const bySlug = new Map<string, Set<string>>()
  const byTitle = new Map<string, Set<string>>()
  const add = (map: Map<string, Set<string>>, key: string, id: string) =>
    map.set(key, (map.get(key) ?? new Set()).add(id))
  for (const connection of connections) {
    const slug = slugIn(connection)
    if (slug !== undefined) add(bySlug, `${connection.type} ${slug}`, connection.target)
    const title = titles.get(connection.target)
    if (title === undefined) continue
    const types = slug === undefined ? linkTypes : [connection.type]
    for (const type of types) add(byTitle, `${type} ${folded(title)}`, connection.target)
  }
  return ({ target, form, type }) => {
    const name = withoutEnding(form === 'path' ? decoded(target) : target)
    const made = bySlug.get(`${type} ${keyOfName(name)}`) ?? (isImported && bySlug.get(`${type} ${slugOf(name)}`))
    const ids = [...(made || byTitle.get(`${type} ${folded(name)}`) || [])]
    // A deleted node must not hide the node that was created for the link since.
    const [id, ...others] = ids.length > 1 ? ids.filter((one) => titles.has(one)) : ids
    if (id === undefined || others.length > 0) return undefined
    const title = titles.get(id)
    return title === undefined ? 'deleted' : { id, title }
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
  return isFile && Buffer.byteLength(place) <= maxPathBytes
    ? { kind: 'file', file: { path: place, exists: false } }
    : { kind: 'missing', reason: 'not_found' }
}

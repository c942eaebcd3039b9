/** What links lead to: nodes of the organisation, files of the node's repository, other hosts, or nothing. */
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
  /** Of a missing one. `deleted`: a connection was made of it, to a node that is no more. */
  readonly reason?: 'empty' | 'above_root' | 'deleted' | 'not_found'
}

interface Known {
  readonly tree: Oid
  readonly content: NodeContent
  readonly resolve: ResolveNode
  readonly links: readonly WrittenLink[]
}

/** Files of a repository among which a name is looked for. */
const maxFiles = 10_000
const maxPathBytes = 1_024
/** Characters of a heading or block in the answer. */
const anchorCharacters = 500

const tooManyFiles =
  'This tree has more than 100,000 files and folders, more than 64 levels, or paths of over 16 MiB; clone the node'

/** What each link leads to, in order. @throws AppError too_large, busy: of the repository's tree; the signal's reason */
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

/** Of a link that the paths of nodes do not explain. */
type InNode = (link: WrittenLink, path: Link) => Destination

/** By the files and connections of the node. */
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
  // A token of one node learns no titles, and so not which of its connections has one.
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

/** At the path that the text names; else by the path in the vault, below `attachments/`; else by the path in the repository. */
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
 * By the connections that the node holds: one that was made of a link with this name, wherever its target has moved since;
 * else one whose target has this title. What was made of a link of one type, or of a canvas, explains no link of another: the
 * import knew the path of that one, and resolved it otherwise or not at all. An import names connections by paths, so that
 * names which differ in signs alone are one; only in what it has made does such a slug explain a link.
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
    // A node that is no more does not hide the one that was made for the link since.
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

/** A path that names a file of another kind than a note says where it would be. */
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

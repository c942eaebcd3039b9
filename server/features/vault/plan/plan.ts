/** Plans the nodes of an organisation from a folder of Markdown, before anything is written. */
import { posix } from 'node:path'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import { type EdgeFolderName, edgeIdAt } from '../../../domain/format/paths.ts'
import { linkResolver, type Resolve } from '../../../markdown/link-resolver.ts'
import { withoutEnding } from '../../../markdown/note-names.ts'
import { toSingleLine, toTitle } from '../../../markdown/single-line.ts'
import { growTree, isIndex, type Place, pathOf, type Tree } from '../../../markdown/tree.ts'
import { type Canvas, isCanvas, readCanvas } from '../read/canvas.ts'
import type { Document } from '../read/document.ts'
import { type Folder, isOfChange, readListed } from '../read/folder.ts'
import { beyond, readSources, type Sources } from '../read/sources.ts'
import { type Attached, spread } from './attachments.ts'
import { type Connections, type Declares, followLinks } from './connections.ts'
import { type Identities, identify } from './identity.ts'
import type { Inventory, KnownNode } from './inventory.ts'
import { nodeFiles, ownProperties } from './node-files.ts'
import { filesByPlace, withSource } from './source-properties.ts'
import { claimsOf, statedFiles, statedIds, withClaims, withoutClaimed, withoutIdleFolders } from './stated-nodes.ts'
import { findBase, kindsOf, type Unresolved } from './unresolved.ts'

export interface PlannedNode {
  /** The id, which is the same in each run. */
  id: string
  /** The path of its source in the folder. A Markdown file, or a folder without an index ('.' is the whole). */
  path: string
  /** The previous path of its source, if the node exists and its source was moved. */
  movedFrom?: string
  title: string
  /** The node's whole tree. */
  files: Map<string, Buffer>
  /** The ids of its parents. */
  parents: string[]
}

export interface Plan {
  /** Parents before children. */
  nodes: PlannedNode[]
  /** Nodes of this vault whose file or folder is gone. */
  gone: KnownNode[]
  /** Links without a target; they stay in the text. */
  unresolved: readonly Unresolved[]
  /** The site's base path, if it was detected instead of given. */
  foundBase?: string
  /** Bases and canvases, which pages do not draw. */
  undrawn: readonly string[]
  /** Problems, each with a path from the folder. */
  problems: PathProblem[]
  /** The number of problems that leave out a whole file or folder. */
  left: number
  /** True if a listed file was gone when it was read. It may be missing from the list, or twice in it. */
  isStale: boolean
  counts: {
    files: number
    nodes: number
    parents: number
    connections: number
    /** Files that are kept, each counted once. */
    attachments: number
  }
}

export interface PlanOptions {
  /** Called with the number of files read so far and of all files. May throw to end the reading. */
  readonly onProgress?: (done: number, total: number) => void
  readonly limits?: { readonly markdownBytes: number; readonly attachmentBytes: number }
  /** The prefix of the site's root-relative paths, such as `/en/`. */
  readonly base?: string | undefined
}

/** Limits in bytes for all Markdown and all attachments. The plan holds them in memory. */
const importLimits = { markdownBytes: 512 * 1_048_576, attachmentBytes: 2_048 * 1_048_576 } as const

/**
 * Reads the listed files one after the other and plans their nodes.
 *
 * Nothing is written. The plan holds every attachment in memory, once.
 */
export async function planImport(folder: Folder, inventory: Inventory, options: PlanOptions = {}): Promise<Plan> {
  const { onProgress = () => {}, limits = importLimits, base } = options
  const { declares = () => false } = inventory
  let done = 0
  const step = () => onProgress(++done, folder.files.length)
  const read = await readSources(folder, limits.markdownBytes, step)
  const claims = claimsOf(read.documents)
  const sources = withoutClaimed(read, claims)
  const { documents, others } = sources
  const grown = growTree([...documents.keys()], others)
  const { connections, foundBase } = follow(grown, sources, await canvasesIn(sources), { base, declares })
  const lost = [...sources.lost]
  const unclaimed = others.filter((file) => !claims.has(file) || connections.shownBy.has(file))
  const attached = withClaims(grown, claims, spread(grown, unclaimed, connections.shownBy, lost))
  const tree = withoutIdleFolders(grown, documents, connections.of, attached)
  const present = new Set([...folder.files, ...tree.places.map(pathOf)])
  const isPresent = (path: string) => present.has(path) || folder.excluded.has(path)
  const identities = await identify(tree, documents, inventory, isPresent)
  const problems = [...sources.problems, ...identities.problems]
  const nodes = plannedNodes(
    { folder, tree, documents, connections, attached, identities, inventory, declares },
    problems,
  )
  const attachments = await attachFiles(others, {
    ...{ dir: folder.dir, attached, nodes, lost, mostBytes: limits.attachmentBytes },
    // A note that is a file of another note was already read.
    onFile: (file) => (read.documents.has(file) ? undefined : step()),
  })

  const planned = [...nodes.values()]
  for (const one of lost) problems.push(one)
  // Sort, because the file system determines the order in which folders are listed.
  problems.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return {
    nodes: planned,
    gone: [...identities.gone],
    unresolved: connections.unresolved,
    ...(foundBase === undefined ? {} : { foundBase }),
    undrawn: others.filter((file) => /\.(base|canvas)$/i.test(file)).sort(),
    problems,
    left: lost.length,
    isStale: lost.some(({ reason }) => isOfChange(reason)),
    counts: {
      files: folder.files.length,
      nodes: planned.length,
      parents: sum(planned.map((node) => node.parents.length)),
      connections: sum(planned.map(({ files }) => countIn('connections', files))),
      attachments,
    },
  }
}

interface Found {
  readonly folder: Folder
  readonly tree: Tree
  readonly documents: ReadonlyMap<string, Document>
  readonly connections: Connections
  readonly attached: ReadonlyMap<string, readonly Attached[]>
  readonly identities: Identities
  readonly inventory: Inventory
  readonly declares: Declares
}

/** Returns the nodes with their own files, by place. Attachments are added later. */
function plannedNodes(
  { folder, tree, documents, connections, attached, identities, inventory, declares }: Found,
  problems: PathProblem[],
): Map<Place, PlannedNode> {
  const titleOf = titlesIn(folder.name, documents)
  const nodeOf = statedIds(tree, documents, identities.idOf)
  const naming = { idOf: identities.idOf, titleOf }
  const filesOf = filesByPlace(attached)
  const nodes = new Map<Place, PlannedNode>()
  for (const place of tree.places) {
    const document = place.file === undefined ? undefined : documents.get(place.file)
    const [path, before] = [pathOf(place), identities.nodeOf(place)?.path]
    nodes.set(place, {
      id: identities.idOf(place),
      path,
      ...(before !== undefined && before !== path ? { movedFrom: before } : {}),
      title: titleOf(place),
      ...edgesAndFiles(place, document),
    })
  }
  return nodes

  function edgesAndFiles(place: Place, document: Document | undefined): Pick<PlannedNode, 'files' | 'parents'> {
    const links = connections.of.get(place) ?? []
    const { stated } = document ?? {}
    const id = identities.idOf(place)
    const source = { keepsStated: id === stated?.id, guest: inventory.guest }
    const own = ownProperties(document, id)
    const { properties, forgotten } = withSource(place, document, own, filesOf.get(place) ?? [], source)
    if (forgotten > 0) {
      const reason = `its properties have no room for the paths of some files, so an export writes these next to it: ${forgotten}`
      problems.push({ path: pathOf(place), reason })
    }
    if (document && stated) {
      const files = statedFiles(place, { ...document, stated }, properties, links, { ...naming, nodeOf, declares })
      return { files, parents: stated.parents.map(({ id }) => nodeOf(id)) }
    }
    const files = nodeFiles(place, document, properties, links, naming)
    return { files, parents: place.parent ? [identities.idOf(place.parent)] : [] }
  }
}

interface Attaching {
  readonly dir: string
  readonly attached: ReadonlyMap<string, readonly Attached[]>
  readonly nodes: ReadonlyMap<Place, PlannedNode>
  /** Gets the files that cannot be read or exceed the limit. */
  readonly lost: PathProblem[]
  readonly mostBytes: number
  readonly onFile: (file: string) => void
}

/** Reads the files and adds them to their nodes. @returns the number of files that are kept */
async function attachFiles(
  files: readonly string[],
  { dir, attached, nodes, lost, mostBytes, onFile }: Attaching,
): Promise<number> {
  let [count, total] = [0, 0]
  for (const file of files) {
    const places = attached.get(file) ?? []
    const bytes = places.length > 0 ? await readListed(dir, file) : undefined
    if (typeof bytes === 'string') lost.push({ path: file, reason: bytes })
    else if (bytes && total + bytes.length > mostBytes) lost.push({ path: file, reason: beyond(mostBytes) })
    else if (bytes) {
      for (const { place, path } of places) nodes.get(place)?.files.set(path, bytes)
      count++
      total += bytes.length
    }
    onFile(file)
  }
  return count
}

/** Follows the links. Repeats this if unresolved links reveal the site's base. */
function follow(
  tree: Tree,
  { documents, others, aliases }: Sources,
  canvases: ReadonlyMap<string, Canvas>,
  { base, declares }: { readonly base: string | undefined; readonly declares: Declares },
): { connections: Connections; foundBase?: string } {
  const files = [...documents.keys(), ...others]
  const kindOf = kindsOf(files)
  const resolve = linkResolver(tree, files, aliases, base)
  const connections = followLinks(tree, documents, canvases, resolve, kindOf, declares)
  if (base !== undefined) return { connections }
  const targets = connections.unresolved.filter(({ kind }) => kind === 'site').map(({ target }) => target)
  const foundBase = findBase(targets, (path) => leads(resolve, path))
  if (foundBase === undefined) return { connections }
  const again = linkResolver(tree, files, aliases, foundBase)
  return { connections: followLinks(tree, documents, canvases, again, kindOf, declares), foundBase }
}

function leads(resolve: Resolve, target: string): boolean {
  return resolve('.', { target, form: 'path', type: 'links_to', label: '' }) !== undefined
}

async function canvasesIn({ dir, others, problems }: Sources): Promise<Map<string, Canvas>> {
  const canvases = new Map<string, Canvas>()
  for (const path of others.filter(isCanvas)) {
    const bytes = await readListed(dir, path)
    // An unreadable file is reported when it is attached.
    const canvas = typeof bytes === 'string' ? undefined : readCanvas(bytes.toString())
    if (canvas) canvases.set(path, canvas)
    else if (typeof bytes !== 'string') problems.push({ path, reason: 'not a valid canvas: kept only as a file' })
  }
  return canvases
}

function countIn(folder: EdgeFolderName, files: ReadonlyMap<string, Buffer>): number {
  return [...files.keys()].filter((path) => edgeIdAt(folder, path) !== undefined).length
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/**
 * Finds titles in front matter, else in the first heading, else in names.
 *
 * The heading must begin the text. The name is that of the file or folder.
 *
 * @param folder the name of the whole folder
 */
function titlesIn(folder: string, documents: ReadonlyMap<string, Document>): (place: Place) => string {
  return (place) => {
    const own = place.file === undefined ? '' : documents.get(place.file)?.title
    if (own) return own
    if (place.folder === '.') return spelled(folder)
    if (place.folder !== undefined && (place.file === undefined || isIndex(place.file)))
      return spelled(posix.basename(place.folder))
    return toTitle(posix.basename(withoutEnding(place.file ?? '')))
  }
}

/** Returns a folder's name unchanged, as one line. */
function spelled(name: string): string {
  return toSingleLine(name, 500) || 'Untitled'
}

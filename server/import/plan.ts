/** A folder of Markdown as the nodes of an organisation: what an import will write, worked out beforehand. */
import { posix } from 'node:path'
import type { PathProblem } from '../domain/format/path-problem.ts'
import { asTitle } from '../domain/vault/line.ts'
import { linkResolver } from '../domain/vault/links.ts'
import { withoutEnding } from '../domain/vault/note-names.ts'
import { growTree, isIndex, type Place } from '../domain/vault/tree.ts'
import { attachmentPath, spread } from './attachments.ts'
import { followLinks } from './connections.ts'
import { readListed } from './folder.ts'
import { nodeFiles } from './node-files.ts'
import { beyond, readSources } from './sources.ts'

export interface PlannedNode {
  /** From the organisation and the path: the same in each run. */
  id: string
  /** Of its source, from the folder: a Markdown file, or a folder without an index ('.': the whole). */
  path: string
  title: string
  /** The node's whole tree. */
  files: Map<string, Buffer>
  /** Ids. */
  parents: string[]
}

export interface Plan {
  /** Parents before children. */
  nodes: PlannedNode[]
  /** What could not be taken as it is, each with its path from the folder. */
  problems: PathProblem[]
  /** How many files or folders of these are left out whole. */
  left: number
  counts: {
    files: number
    nodes: number
    parents: number
    connections: number
    /** Files kept, however many nodes they are in. */
    attachments: number
    unresolvedLinks: number
  }
}

/** Bytes of all Markdown and of all attachments: the plan holds them in memory. */
const importLimits = { markdownBytes: 512 * 1_048_576, attachmentBytes: 2_048 * 1_048_576 } as const

/**
 * Reads `folder`, one file after the other, and plans its nodes; nothing is written. The plan holds every attachment in
 * memory, once.
 *
 * @param orgId a UUID
 * @param onProgress files read so far, and in all; may throw to end the reading
 * @throws the file system's error if the folder itself cannot be read
 */
export async function planImport(
  folder: string,
  orgId: string,
  onProgress: (done: number, total: number) => void = () => {},
  limits: { readonly markdownBytes: number; readonly attachmentBytes: number } = importLimits,
): Promise<Plan> {
  let done = 0
  const {
    dir,
    name,
    files,
    documents,
    others,
    aliases,
    problems: listed,
    lost: unread,
  } = await readSources(folder, limits.markdownBytes, ({ files }) => {
    onProgress(++done, files.length)
  })
  const problems = [...listed]
  const lost = [...unread]
  const tree = growTree(orgId, [...documents.keys()], others)
  const resolve = linkResolver(tree, [...documents.keys(), ...others], aliases)
  const connections = followLinks(tree, documents, resolve)
  problems.push(...connections.unresolved)

  const nodes = new Map<Place, PlannedNode>()
  for (const place of tree.places) {
    const document = place.file === undefined ? undefined : documents.get(place.file)
    nodes.set(place, {
      id: place.id,
      path: place.file ?? place.folder ?? '.',
      title: titleOf(place),
      files: nodeFiles(place, document, connections.of.get(place) ?? [], titleOf),
      parents: place.parent ? [place.parent.id] : [],
    })
  }

  let attachments = 0
  let attachedBytes = 0
  const homes = spread(tree, others, connections.shownBy, lost)
  for (const file of others) {
    const places = homes.get(file) ?? []
    const bytes = places.length > 0 ? await readListed(dir, file) : undefined
    if (typeof bytes === 'string') lost.push({ path: file, reason: bytes })
    else if (bytes && attachedBytes + bytes.length > limits.attachmentBytes)
      lost.push({ path: file, reason: beyond(limits.attachmentBytes) })
    else if (bytes) {
      for (const place of places) nodes.get(place)?.files.set(attachmentPath(file), bytes)
      attachments++
      attachedBytes += bytes.length
    }
    onProgress(++done, files.length)
  }

  const planned = [...nodes.values()]
  problems.push(...lost)
  // Folders are listed in the order that the file system gives.
  problems.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return {
    nodes: planned,
    problems,
    left: lost.length,
    counts: {
      files: files.length,
      nodes: planned.length,
      parents: sum(planned.map((node) => node.parents.length)),
      connections: sum([...connections.of.values()].map((list) => list.length)),
      attachments,
      unresolvedLinks: connections.unresolvedLinks,
    },
  }

  function titleOf({ file, folder }: Place): string {
    const own = file === undefined ? '' : documents.get(file)?.title
    if (own) return own
    if (folder === '.') return asTitle(name)
    if (folder !== undefined && (file === undefined || isIndex(file))) return asTitle(posix.basename(folder))
    return asTitle(posix.basename(withoutEnding(file ?? '')))
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

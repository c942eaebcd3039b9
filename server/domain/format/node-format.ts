/** Reads and validates the tree of a node, by the published format of repositories. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { readKeptBlob } from '../../../gitstore/objects/kept-blobs.ts'
import { readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { readEdgeFolder } from './edge-folders.ts'
import { findFault, isRecord, lossesOf } from './json-text.ts'
import { isTooDeep } from './limits.ts'
import type { ContentProblem } from './path-problem.ts'
import { type EdgeFolderName, edgeIdAt, nodeFile, readmeFile, textFile } from './paths.ts'
import { fits, isOneLine } from './text-rules.ts'

export type EntityType = 'node' | 'content' | 'edge' | 'connection' | 'file'

export interface ParentEntity {
  readonly id: string
  readonly label: string
}

export interface ConnectionEntity {
  readonly id: string
  readonly target: string
  readonly type: string
  readonly label: string
}

export interface NodeContent {
  /** The blob of node.json; undefined if it is missing or not a JSON object. */
  readonly jsonBlob: Oid | undefined
  /** Undefined if node.json has no title. Then the title given at creation applies. */
  readonly title: string | undefined
  readonly tags: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  /** The blob of content.md, or else of README.md in the root. */
  readonly textBlob: Oid | undefined
  readonly parents: readonly ParentEntity[]
  readonly connections: readonly ConnectionEntity[]
  /** Problems of files. A branch with problems is refused. */
  readonly problems: readonly ContentProblem[]
}

const connectionType = /^[a-z][a-z0-9_]{0,63}$/
export const defaultConnectionType = 'related_to'

/** The most losses of parsing that are reported per file. */
const mostLosses = 20

/** The entity at a path of the tree, by the published format (README). */
export function entityAt(path: string, nodeId: string): { entity_type: EntityType; entity_id: string } {
  if (path === nodeFile) return { entity_type: 'node', entity_id: nodeId }
  if (path === textFile) return { entity_type: 'content', entity_id: path }
  const parent = edgeIdAt('parents', path)
  if (parent) return { entity_type: 'edge', entity_id: parent }
  const connection = edgeIdAt('connections', path)
  if (connection) return { entity_type: 'connection', entity_id: connection }
  return { entity_type: 'file', entity_id: path }
}

/**
 * Contents of root trees, by folder and id, with 4 MB of heap in all. JSON takes three times its characters, or four
 * times for short strings. Measured: 1,400 bytes for an ordinary node with its key.
 */
const contents = createCache<NodeContent>('node_contents', {
  sizeCalculation: ({ tags, properties, parents, connections, problems }) =>
    600 + 3 * JSON.stringify([tags, properties]).length + 300 * (parents.length + connections.length + problems.length),
})

/** Reads a tree (null: no commit yet), but does not check the graph. Unreadable content is a problem, not an error. */
export async function readContent(repo: Repo, tree: Oid | null): Promise<NodeContent> {
  if (tree === null) return nothing
  const key = `${repo.dir}:${tree}`
  const known = contents.get(key)
  if (known) return known
  const content = await parseContent(repo, await readTree(repo, tree))
  contents.set(key, content)
  return content
}

/** The content of a node; '' if it has no content, or too much to index. */
export async function readText(repo: Repo, content: NodeContent): Promise<string> {
  if (!content.textBlob) return ''
  const bytes = await readWithin(repo, content.textBlob, limits.fileBytes)
  return bytes ? decodeText(bytes) : ''
}

/** Reads a blob; undefined, without reading it, if it is larger. */
function readWithin(repo: Repo, oid: Oid, maxBytes?: number): Promise<Buffer | undefined> {
  return readKeptBlob(repo, oid, maxBytes).catch((error: unknown) => {
    if (isGitError(error, 'limit_exceeded')) return undefined
    throw error
  })
}

const nothing: NodeContent = {
  jsonBlob: undefined,
  title: undefined,
  tags: [],
  properties: {},
  textBlob: undefined,
  parents: [],
  connections: [],
  problems: [],
}

async function parseContent(repo: Repo, root: readonly TreeEntry[]): Promise<NodeContent> {
  const problems: ContentProblem[] = []
  const at = (name: string): TreeEntry | undefined => root.find((entry) => entry.name === name)
  const node = await parseNode(repo, at(nodeFile), problems)
  const text = at(textFile) ?? at(readmeFile)
  const plainText = text && isPlain(text) ? text : undefined
  if (at(textFile)) await checkText(repo, at(textFile), problems)
  const parents = await parseEdges(repo, 'parents', at('parents'), problems, readParent)
  const connections = await parseEdges(repo, 'connections', at('connections'), problems, readConnection)
  return { ...node, textBlob: plainText?.oid, parents, connections, problems }
}

type NodeFields = Pick<NodeContent, 'jsonBlob' | 'title' | 'tags' | 'properties'>

async function parseNode(repo: Repo, entry: TreeEntry | undefined, problems: ContentProblem[]): Promise<NodeFields> {
  const path = nodeFile
  const json = entry && (await readJson(repo, entry, path, problems))
  if (!json) return { jsonBlob: undefined, title: undefined, tags: [], properties: {} }
  const problem = (reason: string): void => void problems.push({ path, reason })
  // The rule on control characters is newer than some repositories.
  const oldProblem = (reason: string): void => void problems.push({ path, reason, excess: 0 })
  const { title, tags = [], properties = {} } = json
  const titleHolds = typeof title === 'string' && isTitle(title)
  if (title !== undefined && !titleHolds) {
    const refuse = typeof title === 'string' && fits(title, limits.title) && title.trim() !== '' ? oldProblem : problem
    refuse(`\`title\` must be a non-blank string of 1 to ${limits.title} characters, without control characters`)
  }
  const tagsHold = isTags(tags)
  if (!tagsHold) {
    const refuse = isTags(tags, fits) ? oldProblem : problem
    refuse(
      `\`tags\` must be an array of at most ${limits.tags} strings of 1 to ${limits.tag} characters, without control characters`,
    )
  }
  if (!isRecord(properties)) problem('`properties` must be an object')
  const excess = Buffer.byteLength(JSON.stringify(properties)) - limits.propertiesBytes
  if (excess > 0)
    problems.push({ path, reason: '`properties` must not be larger than 64 KiB as JSON on one line', excess })
  return {
    jsonBlob: entry.oid,
    title: titleHolds ? title : undefined,
    tags: tagsHold ? [...new Set(tags)] : [],
    properties: isRecord(properties) ? properties : {},
  }
}

async function parseEdges<T extends object>(
  repo: Repo,
  name: EdgeFolderName,
  folder: TreeEntry | undefined,
  problems: ContentProblem[],
  read: (id: string, json: Record<string, unknown>) => T | string,
): Promise<readonly T[]> {
  const found = await readEdgeFolder<T>(repo, name, folder, async (entry) => {
    const path = `${name}/${entry.name}`
    const id = edgeIdAt(name, path)
    if (!id) {
      const reason = edgeNameProblem(name, entry)
      return reason === undefined ? undefined : { problems: [{ path, reason, excess: 0 }] }
    }
    const own: ContentProblem[] = []
    const json = await readJson(repo, entry, path, own)
    const edge = json && read(id, json)
    if (typeof edge === 'string') own.push({ path, reason: edge })
    return edge === undefined || typeof edge === 'string' ? { problems: own } : { edge, problems: own }
  })
  for (const problem of found.problems) problems.push(problem)
  return found.edges
}

/** Explains why a file among the edges is not an edge. Undefined if its name does not even look like one. */
function edgeNameProblem(folder: EdgeFolderName, { name }: TreeEntry): string | undefined {
  if (folder === 'parents') {
    const isMeant = /\.json$/i.test(name) || /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.test(name)
    return isMeant ? 'Not a valid parent file. The name must be `<node id>.json`, in lower case' : undefined
  }
  if (!/\.json$/i.test(name)) return undefined
  return 'Not a valid connection file. The name must be 1 to 64 letters, digits, - or _, followed by .json'
}

function readParent(id: string, { label = '' }: Record<string, unknown>): ParentEntity | string {
  return isLabel(label) ? { id, label } : labelRule
}

function readConnection(id: string, json: Record<string, unknown>): ConnectionEntity | string {
  const { target, type = defaultConnectionType, label = '' } = json
  if (typeof target !== 'string') return '`target` must be the id of a node'
  if (typeof type !== 'string' || !connectionType.test(type)) return `\`type\` must match ${connectionType.source}`
  return isLabel(label) ? { id, target, type, label } : labelRule
}

const labelRule = `\`label\` must be a string of at most ${limits.edgeLabel} characters, without control characters`

async function checkText(repo: Repo, entry: TreeEntry | undefined, problems: ContentProblem[]): Promise<void> {
  if (!entry) return
  if (!isPlain(entry)) {
    problems.push({ path: entry.name, reason: 'This must be a regular file' })
    return
  }
  try {
    // A file that is too large to be read is still accepted.
    const bytes = await readWithin(repo, entry.oid)
    utf8.decode(bytes)
    // This rule is newer than some repositories. Git treats such a file as binary, and shows no diff of it.
    if (bytes?.includes(0)) problems.push({ path: entry.name, reason: 'This file contains a NUL character', excess: 0 })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    problems.push({ path: entry.name, reason: 'This file is not valid UTF-8' })
  }
}

async function readJson(
  repo: Repo,
  entry: TreeEntry,
  path: string,
  problems: ContentProblem[],
): Promise<Record<string, unknown> | undefined> {
  const refuse = (reason: string): undefined => void problems.push({ path, reason })
  if (!isPlain(entry)) return refuse('This must be a regular file')
  const bytes = await readWithin(repo, entry.oid, limits.nodeJsonBytes)
  if (!bytes) return refuse('This file is larger than 1 MiB')
  let text = ''
  try {
    text = utf8.decode(bytes)
    const json: unknown = JSON.parse(text)
    if (isTooDeep(json)) return refuse(`The JSON is nested deeper than ${limits.jsonLevels} levels`)
    if (!isRecord(json)) return refuse('This file must contain a JSON object')
    for (const reason of lossesOf(text, mostLosses)) problems.push({ path, reason, excess: 0 })
    return json
  } catch (error) {
    if (!(error instanceof SyntaxError)) return refuse('This file is not valid UTF-8')
    const place = findFault(text)
    return refuse(`This file is not valid JSON: ${place === undefined ? '' : `line ${place.line}: `}${error.message}`)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeText(bytes: Buffer): string {
  return new TextDecoder('utf-8').decode(bytes)
}

function isPlain(entry: TreeEntry): boolean {
  return entry.mode === '100644'
}

function isTags(value: unknown, isTag: (text: string, limit: number) => boolean = isText): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= limits.tags &&
    value.every((tag) => typeof tag === 'string' && tag !== '' && isTag(tag, limits.tag))
  )
}

export function isTitle(text: string): boolean {
  return isText(text, limits.title) && text.trim() !== ''
}

function isLabel(value: unknown): value is string {
  return typeof value === 'string' && isText(value, limits.edgeLabel)
}

/** One line of at most `limit` characters (code points, as in the spec). */
function isText(text: string, limit: number): boolean {
  return fits(text, limit) && isOneLine(text)
}

/** What the front matter of an exported note says of its node under the key `grove`, beside title, tags and properties. */
import { createHash } from 'node:crypto'
import { isRecord } from '../../domain/format/json-text.ts'
import { type ConnectionEntity, isTitle, type ParentEntity } from '../../domain/format/node-format.ts'
import { edgeFile, edgeIdAt } from '../../domain/format/paths.ts'
import { isId } from '../../domain/layout.ts'

export const statementKey = 'grove'

/** The property that says where in a vault an import has found the note. */
export const sourcePathKey = 'source_path'

/** What the node says of where it comes from, if that is not what an import of the note would make it say. */
export interface StatedSource {
  /** Where the note was exported to: the statement holds while it lies there. */
  readonly at: string
  /** The properties `source_path` and `source_files`, of whatever type; undefined where there is none. */
  readonly path: unknown
  readonly files: unknown
}

/** The members of node.json. */
export interface NodeMembers {
  readonly title: string
  readonly tags: readonly string[]
  /** Without `source_path` and `source_files`. */
  readonly properties: Readonly<Record<string, unknown>>
}

/** What a statement says, as its writer and its reader know it. */
export interface StatedNode {
  readonly id: string
  readonly parents: readonly ParentEntity[]
  readonly connections: readonly ConnectionEntity[]
  /** The path in the folder of each file of the repository, by its path there. */
  readonly files: ReadonlyMap<string, string>
  readonly source: StatedSource | undefined
  /** Further members of node.json. */
  readonly others: Readonly<Record<string, unknown>>
}

export interface Statement extends StatedNode {
  /** Undefined where title or tags have another form than an export writes: they were edited. */
  readonly members: NodeMembers | undefined
  /** Properties that YAML cannot say, or whose names mean something else in front matter. */
  readonly unsaid: Readonly<Record<string, unknown>>
  /** Neither the text nor title, tags and properties have changed since: the statement is all that there is to know. */
  readonly isWhole: boolean
}

/** Of the front matter that holds a statement: 10,000 edges with labels take some. */
export const maxStatementBytes = 8 * 1_048_576
/** The line at which a statement begins. */
export const statementLine = new RegExp(`^${statementKey}:`, 'm')

const noFiles: ReadonlyMap<string, string> = new Map()

/**
 * Undefined where the values hold no statement, or no id. What of it has another form than an export writes counts as absent.
 *
 * @param values of the front matter
 * @param body the Markdown after it
 */
export function readStatement(values: Readonly<Record<string, unknown>>, body: string): Statement | undefined {
  const { [statementKey]: stated, title, tags, id, ...properties } = values
  if (!isRecord(stated) || typeof id !== 'string' || !isId(id)) return undefined
  const unsaid = fromJson(stated.properties)
  const members =
    typeof title === 'string' && isTitle(title) && (tags === undefined || isTexts(tags))
      ? { title, tags: tags ?? [], properties: { ...properties, ...unsaid } }
      : undefined
  return {
    ...{ id, members, unsaid },
    parents: listOf(stated.parents).flatMap(parentsIn),
    connections: listOf(stated.connections).flatMap(connectionsIn),
    files: filesIn(stated.files),
    source: sourceIn(stated.source),
    others: fromJson(stated.node),
    isWhole: members !== undefined && stated.digest === digestOf(members, body === '' ? '' : blobId(Buffer.from(body))),
  }
}

function parentsIn(value: unknown): ParentEntity[] {
  const { id, label = '' } = isRecord(value) ? value : { id: value }
  const isParent = typeof id === 'string' && isId(id)
  return isParent && typeof label === 'string' ? [{ id, label }] : []
}

function connectionsIn(value: unknown): ConnectionEntity[] {
  if (!isRecord(value)) return []
  const { id, target, type, label = '' } = value
  if (typeof id !== 'string' || typeof target !== 'string' || typeof type !== 'string' || typeof label !== 'string')
    return []
  return edgeIdAt('connections', edgeFile('connections', id)) === undefined ? [] : [{ id, target, type, label }]
}

function filesIn(value: unknown): ReadonlyMap<string, string> {
  if (!isRecord(value)) return noFiles
  return new Map(Object.entries(value).flatMap(([path, at]) => (typeof at === 'string' ? [[path, at] as const] : [])))
}

function sourceIn(value: unknown): StatedSource | undefined {
  if (!isRecord(value) || typeof value.at !== 'string') return undefined
  return { at: value.at, path: value.path, files: value.files }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string')
}

function fromJson(value: unknown): Record<string, unknown> {
  if (typeof value !== 'string') return {}
  try {
    const json: unknown = JSON.parse(value)
    return isRecord(json) ? json : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

/**
 * Short for what the text of a note and its head say: while it is the same, an import reads no tags and links out of them.
 *
 * @param text the blob id of the Markdown after the front matter
 */
export function digestOf({ title, tags, properties }: NodeMembers, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([title, tags, properties, text]))
    .digest('hex')
    .slice(0, 16)
}

/** The blob id that git gives to `bytes`. */
export function blobId(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

/** The statement about a node in its exported note's front matter, under `grove`. */
import { createHash } from 'node:crypto'
import { isRecord } from '../../../domain/format/json-text.ts'
import { type ConnectionEntity, isTitle, type ParentEntity } from '../../../domain/format/node-format.ts'
import { edgeFile, edgeIdAt } from '../../../domain/format/paths.ts'
import { isId } from '../../../domain/layout.ts'

export const statementKey = 'grove'

/** The property with the path of the note in the vault it was imported from. */
export const sourcePathKey = 'source_path'

/** The node's source properties, if an import of the note would set others. */
export interface StatedSource {
  /** The path to which the note was exported. The statement is valid while the note is there. */
  readonly at: string
  /** The properties `source_path` and `source_files`, of any type; undefined if absent. */
  readonly path: unknown
  readonly files: unknown
}

/** The fields of node.json. */
export interface NodeMembers {
  readonly title: string
  readonly tags: readonly string[]
  /** The properties, without `source_path` and `source_files`. */
  readonly properties: Readonly<Record<string, unknown>>
}

/** The content of a statement, for its writer and its reader. */
export interface StatedNode {
  readonly id: string
  readonly parents: readonly ParentEntity[]
  readonly connections: readonly ConnectionEntity[]
  /** The path in the folder of each file of the repository, by its path there. */
  readonly files: ReadonlyMap<string, string>
  readonly source: StatedSource | undefined
  /** Other fields of node.json. */
  readonly others: Readonly<Record<string, unknown>>
}

export interface Statement extends StatedNode {
  /** The fields of node.json; undefined if title or tags were edited into another form. */
  readonly members: NodeMembers | undefined
  /** Properties that YAML cannot express, or whose names have another meaning in front matter. */
  readonly unsaid: Readonly<Record<string, unknown>>
  /** True if text, title, tags and properties have not changed since. The statement is then complete. */
  readonly isWhole: boolean
}

/** Largest front matter with a statement, in bytes. It has room for 10,000 edges with labels. */
export const maxStatementBytes = 8 * 1_048_576
/** Matches the line at which a statement begins. */
export const statementLine = new RegExp(`^${statementKey}:`, 'm')

const noFiles: ReadonlyMap<string, string> = new Map()

/**
 * Reads a statement; undefined if it or the id is missing.
 *
 * Parts in another form than an export writes are ignored.
 *
 * @param values the values of the front matter
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
 * Returns a digest of a note's text and fields. While it stays the same, an import does not read tags and links.
 *
 * @param text the blob id of the Markdown after the front matter
 */
export function digestOf({ title, tags, properties }: NodeMembers, text: string): string {
  return createHash('sha256')
    .update(JSON.stringify([title, tags, properties, text]))
    .digest('hex')
    .slice(0, 16)
}

/** Returns Git's blob id of the bytes. */
function blobId(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

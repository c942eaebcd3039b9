/** Reads what an export wrote about a node into the front matter of its note. */
import { isRecord } from '../../domain/format/json-text.ts'
import { type ConnectionEntity, isTitle, type ParentEntity } from '../../domain/format/node-format.ts'
import { edgeFile, edgeIdAt } from '../../domain/format/paths.ts'
import { isId } from '../../domain/layout.ts'
import {
  blobId,
  digestOf,
  type NodeMembers,
  type StatedNode,
  type StatedSource,
  statementKey,
} from '../format/statement-format.ts'

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

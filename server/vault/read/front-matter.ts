/** The head of a Markdown file: title, tags, aliases, and whatever else its YAML says as JSON properties. */
import { beginsWithToml, yamlLines } from '../../markdown/front-matter-lines.ts'
import { aliasesIn } from '../../markdown/link-resolver.ts'
import { toSingleLine } from '../../markdown/single-line.ts'
import {
  maxStatementBytes,
  type NodeMembers,
  readStatement,
  type Statement,
  statementKey,
  statementLine,
} from './statement.ts'
import { type Mapping, maxJsonBytes, maxYaml, readMapping } from './yaml.ts'

export interface FrontMatter {
  /** '' where it gives none. */
  readonly title: string
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** What title and tags do not already say in full: nothing of the head is lost. */
  readonly properties: Readonly<Record<string, unknown>>
  /** The Markdown after it; the whole text where `problem` says why the head could not be read. */
  readonly body: string
  /** What an export wrote of the node. */
  readonly stated?: Statement
  readonly problem?: string
  /** Title and tags as they are written, however long and many; a title that is cut is whole in the properties, too. */
  readonly written: { readonly title: string; readonly tags: readonly string[] }
}

export function readFrontMatter(text: string): FrontMatter {
  const none = { title: '', tags: [], aliases: [], properties: {}, body: text, written: nothing }
  if (beginsWithToml(text)) return { ...none, problem: 'front matter left in the text: it is TOML, not YAML' }
  const lines = yamlLines(text, maxYaml) ?? linesOfStatement(text)
  if (!lines) return none
  // With a line for the opening one, so that the parser's messages name the file's lines.
  const yaml = `\n${text.slice(lines.start, lines.end)}`
  const body = text.slice(lines.body)
  try {
    const mapping = readMapping(yaml, statementLine.test(yaml) ? maxStatementBytes : maxJsonBytes)
    const fields = fieldsOf(mapping)
    const stated = readStatement(mapping.values, body)
    return stated ? { ...fields, ...membersOf(fields, stated), body, stated } : { ...fields, body }
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n')
    return { ...none, problem: `front matter left in the text: ${reason.replace(/:$/, '')}` }
  }
}

/** What an export wrote may be long: a node has thousands of edges and files. */
function linesOfStatement(text: string) {
  const lines = yamlLines(text, maxStatementBytes)
  return lines && statementLine.test(text.slice(lines.start, lines.end)) ? lines : undefined
}

/** What the front matter of an exported note says under its own names. */
function membersOf({ title, tags, properties }: NodeMembers, { members, unsaid }: Statement): NodeMembers {
  if (members) return members
  const { [statementKey]: _, id: __, ...others } = properties
  return { title, tags, properties: { ...others, ...unsaid } }
}

function fieldsOf({ values, sourceOf }: Mapping): Omit<FrontMatter, 'body' | 'problem' | 'stated'> {
  const written = sourceOf('title')
  const title = toSingleLine(written ?? '', 500)
  const represented = new Set(written === title || values.title === null ? ['title'] : [])
  const [tags, all]: [string[], string[]] = [[], []]
  for (const key of ['tags', 'tag']) {
    const words = wordsOf(values[key] ?? [])
    const fitting = words?.filter((word) => word.length <= maxTag) ?? []
    if (fitting.length === words?.length && tags.length + fitting.length <= maxTags) represented.add(key)
    tags.push(...fitting)
    all.push(...(words ?? []))
  }
  return {
    title,
    tags: distinct(tags),
    written: { title: toSingleLine(written ?? '', Number.POSITIVE_INFINITY), tags: all },
    aliases: aliasesIn([values.aliases, values.alias]),
    properties: Object.fromEntries(Object.entries(values).filter(([key]) => !represented.has(key))),
  }
}

const nothing = { title: '', tags: [] }

export const maxTag = 100
export const maxTags = 100

/** Tags that fit the contract, each once whatever its case, in order. */
export function distinct(tags: readonly string[]): string[] {
  const byName = new Map<string, string>()
  for (const tag of tags) {
    const name = tag.toLowerCase()
    if (tag !== '' && tag.length <= maxTag && byName.size < maxTags && !byName.has(name)) byName.set(name, tag)
  }
  return [...byName.values()]
}

/** The tags of a list, of 'a, b' or of 'a b'; undefined if the value is something else. */
function wordsOf(value: unknown): string[] | undefined {
  const items = typeof value === 'string' ? value.split(value.includes(',') ? ',' : /\s+/) : value
  if (!Array.isArray(items) || !items.every((item) => typeof item === 'string' || typeof item === 'number')) return
  return items.map((item) => toSingleLine(String(item), 500).replace(/^#+/, '')).filter((word) => word !== '')
}

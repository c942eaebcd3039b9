/** Reads front matter: title, tags, aliases, and the rest as JSON properties. */

import * as limits from '../../../base/limits.ts'
import { beginsWithToml, yamlLines } from '../../../markdown/front-matter-lines.ts'
import { aliasesIn } from '../../../markdown/link-resolver.ts'
import { toSingleLine } from '../../../markdown/single-line.ts'
import {
  maxStatementBytes,
  type NodeMembers,
  readStatement,
  type Statement,
  statementKey,
  statementLine,
} from './statement.ts'
import { lineOfValue, type Mapping, maxJsonBytes, maxYaml, readMapping } from './yaml.ts'

export interface FrontMatter {
  /** The title; '' if it has none. */
  readonly title: string
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** All values that title and tags do not represent in full. Nothing is lost. */
  readonly properties: Readonly<Record<string, unknown>>
  /** The Markdown after it, or the whole text if there is a `problem`. */
  readonly body: string
  /** The statement that an export wrote about the node. */
  readonly stated?: Statement
  readonly problem?: string
  /** The title and all tags as written. A title that was cut is also whole in the properties. */
  readonly written: { readonly title: string; readonly tags: readonly string[] }
}

export function readFrontMatter(text: string): FrontMatter {
  const none = { title: '', tags: [], aliases: [], properties: {}, body: text, written: nothing }
  if (beginsWithToml(text)) return { ...none, problem: 'front matter left in the text: it is TOML, not YAML' }
  const lines = yamlLines(text, maxYaml) ?? linesOfStatement(text)
  if (!lines) return none
  // An empty line replaces the opening one, so that the parser reports line numbers of the file.
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

/** Returns the line of a property in a file. A missing one has the line of what is around it, or of the type. */
export function lineInFrontMatter(text: string, steps: readonly (string | number)[]): number | undefined {
  const lines = yamlLines(text, maxYaml) ?? linesOfStatement(text)
  if (!lines) return undefined
  const yaml = `\n${text.slice(lines.start, lines.end)}`
  return lineOfValue(yaml, steps) ?? lineOfValue(yaml, ['type'])
}

/** Finds the lines of an export's statement. It may be long, because a node may have thousands of edges and files. */
function linesOfStatement(text: string) {
  const lines = yamlLines(text, maxStatementBytes)
  return lines && statementLine.test(text.slice(lines.start, lines.end)) ? lines : undefined
}

/** Returns the node's fields in the front matter of an exported note. */
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
    const fitting = words?.filter((word) => word.length <= limits.tag) ?? []
    if (fitting.length === words?.length && tags.length + fitting.length <= limits.tags) represented.add(key)
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

/** Returns the tags that the API accepts, in order. Duplicates that differ only in case are removed. */
export function distinct(tags: readonly string[]): string[] {
  const byName = new Map<string, string>()
  for (const tag of tags) {
    const name = tag.toLowerCase()
    if (tag !== '' && tag.length <= limits.tag && byName.size < limits.tags && !byName.has(name)) byName.set(name, tag)
  }
  return [...byName.values()]
}

/** Returns the tags of a list, of 'a, b' or of 'a b'. Undefined for any other value. */
function wordsOf(value: unknown): string[] | undefined {
  const items = typeof value === 'string' ? value.split(value.includes(',') ? ',' : /\s+/) : value
  if (!Array.isArray(items) || !items.every((item) => typeof item === 'string' || typeof item === 'number')) return
  return items.map((item) => toSingleLine(String(item), 500).replace(/^#+/, '')).filter((word) => word !== '')
}

/** Conflicts of a proposal with its target, and the choices that end them. */

import type { Api, Input } from '../../spec/client/api.ts'
import * as limits from '../base/limits.ts'
import type { AnswerOf } from '../http/in-process.ts'
import { asJson, hasDosLines, type NodePath, withLineEnds } from './edits.ts'
import { codeOf } from './error-codes.ts'
import { isEdge } from './text/diff.tsx'
import { type Clash, type Merged, passagesOf } from './text/passages.ts'

type Pull = AnswerOf<'getPull'>['pr']
type Resolution = NonNullable<Input<'updatePullBranch'>['body']>['resolution']

/** The choices in one place. `both` is only offered for passages of a text. */
const choices = ['theirs', 'yours', 'both'] as const
export type Choice = (typeof choices)[number]

/** A place where the sides differ. */
export interface Question {
  /** The name of its field in the form. */
  readonly name: string
  readonly kind: 'passage' | 'value' | 'file'
  /** Such as `the title`. */
  readonly label: string
  readonly start: string
  readonly theirs: string
  readonly yours: string
}

/** A file with its questions. */
interface Contested {
  readonly path: string
  readonly questions: readonly Question[]
  /** The file by the answers. Undefined: it is deleted. */
  result(answer: (question: Question) => Choice): File | undefined
}

type File = Pick<AnswerOf<'getFile'>, 'content' | 'encoding'>

export interface Resolving {
  /** The heads that are compared. */
  readonly source: string
  readonly target: string
  readonly files: readonly Contested[]
}

/** Files that are compared at most. */
const mostFiles = 30

/** Undefined: Git has to merge, because the branches have no base, or too much differs. */
export async function readResolving(api: Api, path: NodePath, pull: Pull): Promise<Resolving | undefined> {
  const { source_commit: source, target_commit: target } = pull
  const proposed = await api.getPullChanges({ path: { ...path, number: pull.number } })
  const base = proposed.base_commit_id
  if (base === null) return undefined
  const query = { base, head: target, direct: 'true' } as const
  const changed = await api.compareCommits({ path, query }).catch((error: unknown) => {
    if (codeOf(error) === 'too_large') return undefined
    throw error
  })
  if (changed === undefined) return undefined
  const theirs = new Set(pathsOf(changed.changes))
  const both = pathsOf(proposed).filter((one) => theirs.has(one))
  if (both.length > mostFiles) return undefined
  const files: Contested[] = []
  for (const file of both) {
    const sides = await Promise.all([base, target, source].map((commit) => findFile(api, path, commit, file)))
    const contested = contestedOf(file, sides, files.length)
    if (contested !== undefined) files.push(contested)
  }
  return { source, target, files }
}

function pathsOf({ added, removed, modified }: AnswerOf<'getPullChanges'>): string[] {
  return [...added, ...removed, ...modified].flatMap(({ entity_key }) => entity_key ?? [])
}

async function findFile(api: Api, path: NodePath, commit: string, file: string): Promise<File | undefined> {
  try {
    const { content, encoding } = await api.getFile({ path: { ...path, branch: commit, path: file } })
    return { content, encoding }
  } catch (error) {
    if (codeOf(error) === 'file_not_found') return undefined
    throw error
  }
}

/** Undefined: both sides have the same file. */
function contestedOf(path: string, sides: readonly (File | undefined)[], place: number): Contested | undefined {
  const [start, theirs, yours] = sides
  if (isSameFile(theirs, yours)) return undefined
  const named = (at: number) => `choice-${place}-${at}`
  const texts = sides.map((file) => (file?.encoding === 'utf-8' ? file.content : undefined))
  const [before, changed, proposed] = texts
  if (before !== undefined && changed !== undefined && proposed !== undefined) {
    if (path === 'node.json') {
      const fields = contestedFields([before, changed, proposed], named)
      if (fields !== undefined) return { path, ...fields }
    } else if ([before, changed, proposed].every((text) => text.length <= limits.pageText))
      return { path, ...contestedText(path, [before, changed, proposed], named) }
  }
  const question: Question = {
    ...{ name: named(0), kind: 'file' as const, label: fileWords(path) },
    ...{ start: stateOf(start), theirs: stateOf(theirs), yours: stateOf(yours) },
  }
  return { path, questions: [question], result: (answer) => (answer(question) === 'yours' ? yours : theirs) }
}

type Texts = readonly [start: string, theirs: string, yours: string]

function contestedText(path: string, [start, theirs, yours]: Texts, named: (at: number) => string) {
  const passages: readonly (Merged | Clash)[] = passagesOf(start, theirs, yours) ?? [{ start, theirs, yours }]
  let count = 0
  const parts = passages.map((passage) =>
    'text' in passage
      ? passage
      : ({ name: named(count++), kind: 'passage', label: fileWords(path), ...passage } satisfies Question),
  )
  const isDos = hasDosLines(theirs)
  return {
    questions: parts.filter((part) => 'name' in part),
    result: (answer: (question: Question) => Choice): File => {
      const text = parts.map((part) => ('name' in part ? chosen(part, answer(part)) : part.text)).join('')
      return { content: isDos ? withLineEnds(text, true) : text, encoding: 'utf-8' }
    },
  }
}

function chosen({ theirs, yours }: Question, choice: Choice): string {
  if (choice !== 'both') return choice === 'theirs' ? theirs : yours
  const isApart = theirs === '' || theirs.endsWith('\n') || yours === ''
  return `${theirs}${isApart ? '' : '\n'}${yours}`
}

/** The fields of node.json, each with its JSON. Undefined: a version is not a JSON object. */
function contestedFields(texts: Texts, named: (at: number) => string) {
  const [start, theirs, yours] = texts.map(fieldsIn)
  if (start === undefined || theirs === undefined || yours === undefined) return undefined
  const merged = new Map(theirs)
  const asked: { readonly key: string; readonly question: Question }[] = []
  for (const key of new Set([...start.keys(), ...theirs.keys(), ...yours.keys()])) {
    const [before = '', changed = '', proposed = ''] = [start.get(key), theirs.get(key), yours.get(key)]
    if (changed === proposed || proposed === before) continue
    if (changed === before) put(merged, key, proposed)
    else if (key === 'tags') put(merged, key, mergedTags(before, changed, proposed))
    else {
      const shown = { start: valueWords(before), theirs: valueWords(changed), yours: valueWords(proposed) }
      const question = { name: named(asked.length), kind: 'value', label: fieldWords(key), ...shown } as const
      asked.push({ key, question })
    }
  }
  return {
    questions: asked.map(({ question }) => question),
    result: (answer: (question: Question) => Choice): File => {
      const fields = new Map(merged)
      for (const { key, question } of asked) if (answer(question) === 'yours') put(fields, key, yours.get(key) ?? '')
      return { content: jsonOf(fields), encoding: 'utf-8' }
    },
  }
}

/** Separates the member `properties` from the name of a property. No name of a member has it. */
const inProperties = 'properties\n'

/** The members of node.json in their order, and each property as one. */
function fieldsIn(text: string): Map<string, string> | undefined {
  try {
    const json: unknown = JSON.parse(text)
    if (!isObject(json)) return undefined
    const members = Object.entries(json).flatMap(([key, value]) =>
      key === 'properties' && isObject(value)
        ? Object.entries(value).map(([name, one]) => [`${inProperties}${name}`, one] as const)
        : [[key, value] as const],
    )
    return new Map(members.map(([key, value]) => [key, JSON.stringify(value)]))
  } catch {
    return undefined
  }
}

function jsonOf(fields: ReadonlyMap<string, string>): string {
  const properties: Record<string, unknown> = {}
  const json: Record<string, unknown> = {}
  for (const [key, value] of fields)
    if (key.startsWith(inProperties)) {
      properties[key.slice(inProperties.length)] = JSON.parse(value)
      json.properties = properties
    } else json[key] = JSON.parse(value)
  return asJson(json)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function put(fields: Map<string, string>, key: string, value: string): void {
  if (value === '') fields.delete(key)
  else fields.set(key, value)
}

/** Adds and removes what either side did. */
function mergedTags(...sides: readonly [start: string, theirs: string, yours: string]): string {
  const [start = [], theirs = [], yours = []] = sides.map((json): readonly unknown[] =>
    [json === '' ? [] : JSON.parse(json)].flat(),
  )
  const kept = theirs.filter((tag) => yours.includes(tag) || !start.includes(tag))
  return JSON.stringify([...kept, ...yours.filter((tag) => !start.includes(tag) && !kept.includes(tag))])
}

/** A text without quotation marks; '' for a field that is missing. */
function valueWords(json: string): string {
  const value: unknown = json === '' ? '' : JSON.parse(json)
  return typeof value === 'string' ? value : json
}

function fieldWords(key: string): string {
  if (key === 'title') return 'The title'
  return key.startsWith(inProperties) ? `The property ${key.slice(inProperties.length)}` : `The field ${key}`
}

function fileWords(path: string): string {
  if (path === 'content.md' || path === 'README.md') return 'The text'
  if (path === 'node.json') return 'The title, tags and properties'
  if (isEdge(path)) return path.startsWith('parents/') ? 'A place of the page' : 'A link of the page'
  return `The file ${path}`
}

function stateOf(file: File | undefined): string {
  return file === undefined ? 'deleted' : 'changed'
}

function isSameFile(one: File | undefined, other: File | undefined): boolean {
  return one?.content === other?.content && one?.encoding === other?.encoding
}

/** The changes of a form. Undefined: it leaves a question open. */
export function resolutionOf({ source, target, files }: Resolving, form: URLSearchParams): Resolution {
  const asked = files.flatMap(({ questions }) => questions)
  const answers = new Map(asked.map(({ name }) => [name, choices.find((one) => one === form.get(name))]))
  if ([...answers.values()].includes(undefined)) return undefined
  const changes = files.map(({ path, result }) => {
    const file = result(({ name }) => answers.get(name) ?? 'theirs')
    return file === undefined ? ({ action: 'delete', path } as const) : ({ action: 'put', path, ...file } as const)
  })
  return { expected_source_commit: source, expected_target_commit: target, changes }
}

/** The differences between two commits in words, file by file. */

import type { ComponentChildren } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Icon } from '../parts/icons.tsx'
import { diffWords, type Effort, type Fold, newEffort, type Piece, type Row, type WordDiff } from './word-diff.ts'

export type Changes = AnswerOf<'getPullChanges'>

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** UTF-16 units that are read for a page, over all files and both sides. */
const mostRead = 4_194_304

export interface FileChange {
  readonly path: string
  readonly kind: 'added' | 'removed' | 'modified'
  /** Undefined if the file is not text, or too long. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The UTF-16 units that a page may still show and read. */
type Reading = Record<'characters' | 'read', number>

/** Returns the budget of a page. */
export function newReading(): Reading {
  return { characters: limits.diffTextsUnits, read: mostRead }
}

/**
 * Reads the files that differ, except edges, which impact.tsx shows. Reads one file at a time, because each may take 16 MiB
 * before it turns out to be too long.
 */
export async function readFileChanges(
  api: Api,
  path: NodePath,
  changes: Changes,
  left = newReading(),
): Promise<FileChange[]> {
  const files = (['modified', 'added', 'removed'] as const).flatMap((kind) =>
    changes[kind].map(({ entity_key }) => ({ kind, path: entity_key ?? '' })),
  )
  const shown = files.filter((file) => !isEdge(file.path))
  const ordered = [...first.flatMap((name) => shown.filter((file) => file.path === name)), ...shown.filter(isOther)]
  const { base_commit_id: base, target_commit_id: target } = changes
  const read = async (commit: string, file: string) => {
    if (left.read <= 0) return undefined
    const found = await findFile(api, path, commit, file)
    left.read -= found?.content.length ?? 0
    const text = textOf(found)
    if (text === undefined || text.length > left.characters) return undefined
    left.characters -= text.length
    return text
  }
  const found: FileChange[] = []
  for (const file of ordered.slice(0, limits.diffFiles)) {
    const before = file.kind === 'added' || base === null ? '' : await read(base, file.path)
    const after = file.kind === 'removed' || before === undefined ? '' : await read(target, file.path)
    found.push({ ...file, before, after })
  }
  return found
}

export function isEdge(path: string): boolean {
  return /^(parents|connections)\/[^/]+\.json$/.test(path)
}

/** The names of files that pages edit. */
const names: Readonly<Record<string, string>> = {
  'content.md': 'Text',
  'README.md': 'Text',
  'node.json': 'Title, tags and properties',
}

/** The order of files: the text of the node comes first. */
const first: readonly string[] = ['content.md', 'README.md', 'node.json']

function isOther({ path }: { readonly path: string }): boolean {
  return !first.includes(path)
}

/** Reads a text file; undefined if it is missing, not text, or too long. */
export async function readText(api: Api, path: NodePath, commit: string, file: string): Promise<string | undefined> {
  return textOf(await findFile(api, path, commit, file))
}

type File = AnswerOf<'getFile'>

async function findFile(api: Api, path: NodePath, commit: string, file: string): Promise<File | undefined> {
  try {
    return await api.getFile({ path: { ...path, branch: commit, path: file } })
  } catch (error) {
    if (error instanceof AppError && (error.code === 'too_large' || error.code === 'file_not_found')) return undefined
    throw error
  }
}

function textOf(file: File | undefined): string | undefined {
  return file?.encoding === 'utf-8' && file.content.length <= limits.diffTextUnits ? file.content : undefined
}

/** `head`: the version after. `base`: the version before. */
export type Side = 'head' | 'base'

/** The additions of a page to the differences of a file, such as comments. */
export interface FileNotes {
  /** Returns the URL behind a line number. */
  hrefOf?(side: Side, line: number): string
  /** Notes by the key of a line. Lines with a note are never folded. */
  readonly below: ReadonlyMap<string, ComponentChildren>
  /** Links in the header, and notes above and below the lines. */
  readonly links?: ComponentChildren
  readonly above?: ComponentChildren
  readonly end?: ComponentChildren
}

export function lineKey(side: Side, line: number): string {
  return `${side} ${line}`
}

/** Returns the keys of a row. An unchanged row is a line of both versions. */
function keysOf({ kind, line, before }: Row): string[] {
  if (kind === 'removed') return [lineKey('base', line)]
  return [lineKey('head', line), ...(before === undefined ? [] : [lineKey('base', before)])]
}

/** The lines and the effort that a page may still spend. */
interface Comparing {
  lines: number
  readonly effort: Effort
}

/** Returns the budget of a page. */
export function newComparing(): Comparing {
  return { lines: limits.diffLines, effort: newEffort() }
}

interface FileDiffsProps {
  readonly files: readonly FileChange[]
  readonly notesOf?: (file: FileChange) => FileNotes
  /** Shared by all lists of a page. */
  readonly left?: Comparing
}

/** Shows the files, in words until the limits of the page are reached. */
export function FileDiffs({ files, notesOf, left = newComparing() }: FileDiffsProps) {
  return (
    <>
      {files.map((file) => {
        const notes = notesOf?.(file)
        const diff = left.lines > 0 ? diffOf(file, left.effort, notes) : undefined
        left.lines -= diff?.rows ?? 0
        return <Told file={file} diff={diff} notes={notes} />
      })}
    </>
  )
}

export function FileDiff({ file, effort }: { readonly file: FileChange; readonly effort: Effort }) {
  return <Told file={file} diff={diffOf(file, effort)} />
}

function diffOf({ before, after }: FileChange, effort: Effort, notes?: FileNotes): WordDiff | undefined {
  if (before === undefined || after === undefined) return undefined
  return diffWords(before, after, effort, notes && ((row) => keysOf(row).some((key) => notes.below.has(key))))
}

interface ToldProps {
  readonly file: Pick<FileChange, 'path' | 'kind'>
  readonly diff: WordDiff | undefined
  readonly notes?: FileNotes | undefined
}

function Told({ file: { path, kind }, diff, notes }: ToldProps) {
  return (
    <section class="card">
      <header>
        <h2>{names[path] ?? path}</h2>
        {diff && (
          <span class="type">
            +{diff.added} −{diff.removed} words
          </span>
        )}
        <span class="r">
          {notes?.links}
          {kind}
        </span>
      </header>
      {notes?.above}
      {diff === undefined ? (
        <>
          <p class="empty">This file cannot be compared word by word. It is not text, or too much of it differs.</p>
          {notes && [...notes.below.values()]}
        </>
      ) : (
        <div class="diff">
          {diff.parts.length === 0 && <p class="empty">No words differ.</p>}
          {diff.parts.map((part) =>
            part.kind === 'fold' ? <Folded fold={part} notes={notes} /> : <Line row={part} notes={notes} />,
          )}
        </div>
      )}
      {notes?.end}
    </section>
  )
}

interface TextDiffProps {
  readonly before: string
  readonly after: string
  readonly effort: Effort
}

/** Shows how a short text changes, without line numbers. */
export function TextDiff({ before, after, effort }: TextDiffProps) {
  const diff = diffWords(before, after, effort, () => true)
  const rows: readonly Row[] = diff?.parts.flatMap((part) => (part.kind === 'fold' ? part.rows : part)) ?? [
    { kind: 'removed', line: 1, pieces: [{ text: before, isChanged: true }] },
    { kind: 'added', line: 1, pieces: [{ text: after, isChanged: true }] },
  ]
  return (
    <div class="diff text-diff">
      {rows.map(({ kind, pieces }) => (
        <div class={classes[kind]}>
          <div class="tx">
            {said[kind] && <span class="vh">{said[kind]}</span>}
            {pieces.map((piece) => (
              <Words piece={piece} isAdded={kind === 'added'} isWhole={pieces.length === 1} />
            ))}
          </div>
        </div>
      ))}
    </div>
  )
}

interface FoldedProps {
  readonly fold: Fold
  readonly notes: FileNotes | undefined
}

function Folded({ fold: { rows, lines, more, heading }, notes }: FoldedProps) {
  return (
    <details>
      <summary class="gap">
        <Icon name="right" size={13} />
        {lines} unchanged lines{heading && <span> · {heading}</span>}
      </summary>
      {rows.map((row) => (
        <Line row={row} notes={notes} />
      ))}
      {more > 0 && <p class="empty">and {more} more</p>}
    </details>
  )
}

const said = { same: '', removed: 'Removed: ', added: 'Added: ' } as const
const classes = { same: 'row', removed: 'row del', added: 'row add' } as const

interface LineProps {
  readonly row: Row
  readonly notes: FileNotes | undefined
}

function Line({ row, notes }: LineProps) {
  const { kind, line, pieces } = row
  const isHead = /^#{1,6} /.test(pieces[0]?.text ?? '')
  const href = notes?.hrefOf?.(kind === 'removed' ? 'base' : 'head', line)
  return (
    <>
      <div class={isHead ? `${classes[kind]} head` : classes[kind]}>
        {href === undefined ? (
          <span class="ln" aria-hidden="true">
            {line}
          </span>
        ) : (
          <a class="ln" href={href} aria-label={`Comment on line ${line}`}>
            {line}
          </a>
        )}
        <div class="tx">
          {said[kind] && <span class="vh">{said[kind]}</span>}
          {pieces.map((piece) => (
            <Words piece={piece} isAdded={kind === 'added'} isWhole={pieces.length === 1} />
          ))}
        </div>
      </div>
      {notes && keysOf(row).map((key) => notes.below.get(key))}
    </>
  )
}

function Words({ piece: { text, isChanged }, isAdded, isWhole }: { piece: Piece; isAdded: boolean; isWhole: boolean }) {
  if (!isChanged || isWhole) return <>{text}</>
  return isAdded ? <ins>{text}</ins> : <del>{text}</del>
}

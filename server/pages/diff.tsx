/** What differs between two commits: in the graph, then in words, file by file. */

import type { Api } from '../../spec/client/api.ts'
import { Refusal } from '../errors.ts'
import type { AnswerOf } from '../http/in-process.ts'
import { Icon } from './icons.tsx'
import { compareWords, type Fold, type Piece, type Row } from './words.ts'

export type Changes = AnswerOf<'getPullChanges'>

interface NodePath {
  readonly org_id: string
  readonly node_id: string
}

/** Files that are shown in words; characters of one of them on both sides. */
const most = { files: 30, characters: 262_144 } as const

export interface FileChange {
  readonly path: string
  readonly kind: 'added' | 'removed' | 'modified'
  /** Undefined where it is no text, or too long. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The texts of files that differ; edges are told by impact.tsx. */
export async function readFileChanges(api: Api, path: NodePath, changes: Changes): Promise<FileChange[]> {
  const files = (['modified', 'added', 'removed'] as const).flatMap((kind) =>
    changes[kind].map(({ entity_key }) => ({ kind, path: entity_key ?? '' })),
  )
  const told = files.filter((file) => !isEdge(file.path)).sort((a, b) => rank(a.path) - rank(b.path))
  const { base_commit_id: base, target_commit_id: target } = changes
  return Promise.all(
    told.slice(0, most.files).map(async (file) => ({
      ...file,
      before: file.kind === 'added' || base === null ? '' : await readText(api, path, base, file.path),
      after: file.kind === 'removed' ? '' : await readText(api, path, target, file.path),
    })),
  )
}

export function isEdge(path: string): boolean {
  return /^(parents|connections)\/[^/]+\.json$/.test(path)
}

/** The text of the node first. */
function rank(path: string): number {
  return ['content.md', 'README.md', 'node.json'].indexOf(path) + 1 || 9
}

/** Undefined for what is no text, too long or not there. */
export async function readText(api: Api, path: NodePath, commit: string, file: string): Promise<string | undefined> {
  try {
    const { content, encoding } = await api.getFile({ path: { ...path, branch: commit, path: file } })
    return encoding === 'utf-8' && content.length <= most.characters ? content : undefined
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'too_large' || error.code === 'file_not_found')) return undefined
    throw error
  }
}

export function FileDiff({ file }: { readonly file: FileChange }) {
  const { path, kind, before, after } = file
  const diff = before === undefined || after === undefined ? undefined : compareWords(before, after)
  return (
    <section class="card">
      <header>
        <h2>{path}</h2>
        {diff && (
          <span class="type">
            +{diff.added} −{diff.removed} words
          </span>
        )}
        <span class="r">{kind}</span>
      </header>
      {diff === undefined ? (
        <p class="empty">This cannot be told in words: it is no text, or too much of it differs.</p>
      ) : (
        <div class="diff">
          {diff.parts.length === 0 && <p class="empty">No word differs.</p>}
          {diff.parts.map((part) => (part.kind === 'fold' ? <Folded fold={part} /> : <Line row={part} />))}
        </div>
      )}
    </section>
  )
}

function Folded({ fold: { rows, heading } }: { readonly fold: Fold }) {
  return (
    <details>
      <summary class="gap">
        <Icon name="right" size={13} />
        {rows.length} unchanged lines{heading && <span> · {heading}</span>}
      </summary>
      {rows.map((row) => (
        <Line row={row} />
      ))}
    </details>
  )
}

const said = { same: '', removed: 'Removed: ', added: 'Added: ' } as const
const classes = { same: 'row', removed: 'row del', added: 'row add' } as const

function Line({ row: { kind, line, pieces } }: { readonly row: Row }) {
  const isHead = /^#{1,6} /.test(pieces[0]?.text ?? '')
  return (
    <div class={isHead ? `${classes[kind]} head` : classes[kind]}>
      <span class="ln" aria-hidden="true">
        {line}
      </span>
      <div class="tx">
        {said[kind] && <span class="vh">{said[kind]}</span>}
        {pieces.map((piece) => (
          <Words piece={piece} isAdded={kind === 'added'} isWhole={pieces.length === 1} />
        ))}
      </div>
    </div>
  )
}

function Words({ piece: { text, isChanged }, isAdded, isWhole }: { piece: Piece; isAdded: boolean; isWhole: boolean }) {
  if (!isChanged || isWhole) return <>{text}</>
  return isAdded ? <ins>{text}</ins> : <del>{text}</del>
}

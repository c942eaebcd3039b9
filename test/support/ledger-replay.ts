/** Replays a ledger with native Git alone: the consent of each pull request before and after each commit. */

import type { Git } from '../support/git.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a ledger
type Json = any // each use says what it expects

/** A commit of the first-parent chain, with the files that it changed. */
interface LedgerCommit {
  readonly subject: string
  readonly files: readonly { readonly path: string; readonly blob: string }[]
}

/** A pull request after some commits. */
interface PullState {
  readonly record: Json
  /** Keyed by entry. */
  readonly entries: ReadonlyMap<number, Json>
}

export interface Replay {
  readonly subjects: readonly string[]
  /** The pull request after the first `count` commits. */
  at(number: number, count: number): PullState
}

/** The rule of the test: enough approvals of this head, and no objection. */
export function hasConsent({ entries }: PullState, head: string, approvals: number): boolean {
  const last = new Map<string, Json>()
  for (const [, json] of [...entries].sort(([a], [b]) => a - b))
    if (json.kind === 'verdict' && json.verdict !== 'comment') last.set(json.by.id, json)
  const standing = [...last.values()].filter(({ withdrawn, dismissed }) => !withdrawn && !dismissed)
  if (standing.some(({ verdict }) => verdict === 'request_changes')) return false
  return standing.filter((json) => json.verdict === 'approve' && json.head === head).length >= approvals
}

/** Reads the whole chain. */
export function replay(git: Git): Replay {
  const chain = readChain(git)
  const texts = readBlobs(git, [...new Set(chain.flatMap(({ files }) => files.map(({ blob }) => blob)))])
  const changes = chain.map(({ files }) => files.map(({ path, blob }) => ({ path, json: texts.get(blob) })))
  return {
    subjects: chain.map(({ subject }) => subject),
    at: (number, count) => {
      const entries = new Map<number, Json>()
      let record: Json
      for (const { path, json } of changes.slice(0, count).flat()) {
        const [, entry] = new RegExp(`^reviews/\\d+/\\d+/${number}/\\d+/(\\d+)\\.json$`).exec(path) ?? []
        if (entry !== undefined) entries.set(Number(entry), json)
        if (new RegExp(`^pulls/\\d+/\\d+/${number}\\.json$`).test(path)) record = json
      }
      return { record, entries }
    },
  }
}

function readChain(git: Git): LedgerCommit[] {
  const args = ['log', '--first-parent', '--reverse', '-m', '--raw', '--no-abbrev', '--no-renames', '--root']
  const commits: { subject: string; files: { path: string; blob: string }[] }[] = []
  for (const line of git.lines(...args, '--format=commit %s', 'refs/grove/ledger')) {
    const [, blob, path] = /^:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]\t(.*)$/.exec(line) ?? []
    if (line.startsWith('commit ')) commits.push({ subject: line.slice('commit '.length), files: [] })
    else if (blob !== undefined && path !== undefined) commits.at(-1)?.files.push({ path, blob })
    else throw new Error(`Git said: ${line}`)
  }
  return commits
}

/** The JSON of each blob that has some. */
function readBlobs(git: Git, blobs: readonly string[]): Map<string, Json> {
  const answer = git.run(['cat-file', '--batch'], { input: blobs.map((blob) => `${blob}\n`).join('') })
  const found = new Map<string, Json>()
  let at = 0
  for (const blob of blobs) {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', at, at + 100)) ?? []
    const text = answer.toString('utf8', at + head.length, at + head.length + Number(size))
    at += head.length + Number(size) + 1
    found.set(blob, JSON.parse(text))
  }
  return found
}

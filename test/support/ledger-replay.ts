/** Replays a ledger with native Git only: what it says after each of its commits. */

import type { Git } from './git.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a ledger
type Json = any // each use says what it expects

/** A commit of the first-parent chain, with the files that it changed. */
export interface ChainCommit {
  readonly id: string
  readonly subject: string
  /** `blob` has only zeros if the file was deleted. */
  readonly files: { readonly path: string; readonly blob: string }[]
}

/** A pull request after some commits. */
export interface ReplayedPull {
  readonly record: Json
  /** Keyed by entry. */
  readonly entries: ReadonlyMap<number, Json>
}

export interface Replay {
  readonly subjects: readonly string[]
  /** The pull request after the first `count` commits. */
  pullAt(number: number, count: number): ReplayedPull
  /** The checks of a commit after the first `count` commits, by name. */
  checksAt(commit: string, count: number): Readonly<Record<string, Json>>
}

/** Reads the whole chain. @param isWanted true for files that the caller asks about */
export function replay(git: Git, isWanted: (path: string) => boolean = () => true): Replay {
  const chain = readChain(git)
  const wanted = chain.map(({ files }) => files.filter(({ path }) => isWanted(path)))
  const texts = readBlobs(git, [...new Set(wanted.flat().map(({ blob }) => blob))])
  const changesUntil = (count: number) => wanted.slice(0, count).flat()
  return {
    subjects: chain.map(({ subject }) => subject),
    pullAt: (number, count) => {
      const entryFile = new RegExp(`^reviews/\\d+/\\d+/${number}/\\d+/(\\d+)\\.json$`)
      const pullFile = new RegExp(`^pulls/\\d+/\\d+/${number}\\.json$`)
      const entries = new Map<number, Json>()
      let record: Json
      for (const { path, blob } of changesUntil(count)) {
        const [, entry] = entryFile.exec(path) ?? []
        if (entry !== undefined) entries.set(Number(entry), texts.get(blob))
        if (pullFile.test(path)) record = texts.get(blob)
      }
      return { record, entries }
    },
    checksAt: (commit, count) => {
      const last = changesUntil(count).findLast(({ path }) => path === checksFile(commit))
      return texts.get(last?.blob ?? '')?.checks ?? {}
    },
  }
}

function checksFile(commit: string): string {
  return `checks/${commit.slice(0, 2)}/${commit.slice(2)}.json`
}

/** Lists the first-parent chain of a ref, oldest first. */
export function readChain(git: Git, ref = 'refs/grove/ledger'): ChainCommit[] {
  const args = ['log', '--first-parent', '--reverse', '-m', '--raw', '--no-abbrev', '--no-renames', '--root']
  const commits: ChainCommit[] = []
  for (const line of git.lines(...args, '--format=commit %H %s', ref)) {
    const [, id, subject] = /^commit ([0-9a-f]+) (.*)$/.exec(line) ?? []
    const [, blob, path] = /^:\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]\t(.*)$/.exec(line) ?? []
    if (id !== undefined && subject !== undefined) commits.push({ id, subject, files: [] })
    else if (blob !== undefined && path !== undefined) commits.at(-1)?.files.push({ path, blob })
    else throw new Error(`Git said: ${line}`)
  }
  return commits
}

/** Reads the JSON of each blob. */
export function readBlobs(git: Git, blobs: readonly string[]): Map<string, Json> {
  const answer = git.run(['cat-file', '--batch'], { input: blobs.map((blob) => `${blob}\n`).join('') })
  const found = new Map<string, Json>()
  let at = 0
  for (const blob of blobs) {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', at, at + 100)) ?? []
    const end = at + head.length + Number(size)
    found.set(blob, JSON.parse(answer.toString('utf8', at + head.length, end)))
    at = end + 1
  }
  return found
}

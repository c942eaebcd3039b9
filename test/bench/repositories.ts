/** Makes histories to measure with `git fast-import`: a line of commits, and one full of merges. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { randomFrom } from '../support/random.ts'

/** The time of the first commit, in seconds since 1970. */
const since = 1_700_000_000

/** Adds `size` commits of one file to main, one second apart. */
export async function importCommits(repo: string, size: number): Promise<void> {
  await fastImport(repo, async (write) => {
    for (let n = 0; n < size; n++) {
      const from = n === 0 ? 'refs/heads/main^0' : undefined
      await write(commitCommand({ branch: 'main', at: since + n, text: `commit ${n}`, path: 'n.txt', from }))
    }
  })
}

export interface Fork {
  readonly branch: string
  /** The commit of main that is the parent of its one commit. */
  readonly from: string
}

/** Adds branches of one commit each. */
export async function importForks(repo: string, forks: readonly Fork[]): Promise<void> {
  await fastImport(repo, async (write) => {
    for (const { branch, from } of forks) {
      await write(commitCommand({ branch, from, at: since + 10_000_000, text: `on ${branch}`, path: `${branch}.txt` }))
    }
  })
}

/**
 * Adds four commits per merge: one on main, two on a side branch, and the merge. Times vary by minutes in both
 * directions.
 */
export async function importMerges(repo: string, merges: number): Promise<void> {
  const random = randomFrom(7)
  await fastImport(repo, async (write) => {
    const commit = (mark: number, branch: string, parents: readonly (number | undefined)[]) => {
      const [from, merge] = parents.map((parent) => (parent === undefined ? undefined : `:${parent}`))
      const at = since + mark * 20 + Math.floor(random() * 240)
      return write(commitCommand({ branch, mark, from, merge, at, text: `commit ${mark}`, path: `${branch}.txt` }))
    }
    for (let n = 0; n < merges; n++) {
      const before = n === 0 ? undefined : 4 * n
      const first = 4 * n + 1
      await commit(first, 'main', [before])
      await commit(first + 1, 'side', [before ?? first])
      await commit(first + 2, 'side', [first + 1])
      await commit(first + 3, 'main', [first, first + 2])
    }
  })
}

interface CommitCommand {
  readonly branch: string
  readonly at: number
  readonly text: string
  readonly path: string
  readonly mark?: number
  readonly from?: string | undefined
  readonly merge?: string | undefined
}

function commitCommand({ branch, at, text, path, mark, from, merge }: CommitCommand): string {
  const lines = [
    `commit refs/heads/${branch}`,
    ...(mark === undefined ? [] : [`mark :${mark}`]),
    `committer Ann <ann@example.org> ${at} +0000`,
    `data ${text.length}`,
    text,
    ...(from === undefined ? [] : [`from ${from}`]),
    ...(merge === undefined ? [] : [`merge ${merge}`]),
    `M 100644 inline ${path}`,
    `data ${text.length}`,
    text,
  ]
  return `${lines.join('\n')}\n`
}

/** Runs `git fast-import` on the commands that `feed` writes. */
export async function fastImport(repo: string, feed: (write: (text: string) => Promise<void>) => Promise<void>) {
  const child: ChildProcessByStdio<Writable, null, null> = spawn(
    'git',
    ['-C', repo, 'fast-import', '--quiet', '--force'],
    { stdio: ['pipe', 'inherit', 'inherit'] },
  )
  const ended = once(child, 'exit')
  await feed(async (text) => {
    if (!child.stdin.write(text)) await once(child.stdin, 'drain')
  })
  child.stdin.end()
  const [code] = await ended
  if (code !== 0) throw new Error('git fast-import failed')
}

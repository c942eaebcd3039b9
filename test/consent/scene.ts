/** Shared by the tests of consent. It has a bare repository, and judgements of changes in it, ours and native Git's. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHistory } from '../../gitstore/history/history.ts'
import { emptyTree } from '../../gitstore/objects/trees.ts'
import { type Change, compareChanges, mergeBaseOf, type Sameness } from '../../server/domain/consent/same-change.ts'
import { environment, type Git, gitIn } from '../support/git.ts'

let folder = ''

/** A folder for the repositories of one describe. */
export function useFolder(): void {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-consent-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
}

let made = 0

export function newRepository(): Git {
  const name = String(++made)
  mkdirSync(join(folder, 'o'), { recursive: true })
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', join(folder, 'o', `${name}.git`)])
  return gitIn({ dataDir: folder }, 'o', name)
}

/** A proposal at a moment: the head of its target, and its own. */
export interface Moment {
  readonly target: string
  readonly head: string
}

/** No log is laid out, so that the history walks all commits. */
const unknown = {
  isCut: async () => false,
  tips: async () => [],
  page: async () => undefined,
  holdsAny: async () => undefined,
  named: async () => undefined,
  shared: async () => undefined,
}

export function nodeOf({ dir }: Pick<Git, 'dir'>) {
  const repo = { dir }
  return { repo, history: openHistory(repo, unknown) }
}

export async function changeOf(git: Git, { target, head }: Moment): Promise<Change> {
  return { base: await mergeBaseOf(nodeOf(git).history, target, head), head }
}

export async function judged(git: Git, approved: Moment, present: Moment): Promise<Sameness> {
  return compareChanges(nodeOf(git), await changeOf(git, approved), await changeOf(git, present))
}

/** The same by the definition alone, with native Git. */
export function judgedByGit(git: Git, approved: Moment, present: Moment): Sameness {
  const [before, now] = [basesByGit(git, approved), basesByGit(git, present)]
  const [base, onto] = [before.length === 1 ? before[0] : undefined, now.length === 1 ? now[0] : undefined]
  const isSameHead = approved.head === present.head
  if (base === undefined || onto === undefined)
    return isSameHead && base === undefined && onto === undefined ? 'same_commit' : 'other'
  if (isSameHead && succeeds(git, ['merge-base', '--is-ancestor', base, onto])) return 'same_commit'
  const merged = mergedByGit(git, base, onto, approved.head)
  return merged === git.say('rev-parse', `${present.head}^{tree}`) ? 'same_change' : 'other'
}

export function basesByGit(git: Git, { target, head }: Moment): string[] {
  try {
    return git.lines('merge-base', '--all', target, head)
  } catch {
    return []
  }
}

/** The tree of the change from `base` to `head`, merged into `onto` by Git; undefined if it conflicts. */
export function mergedByGit(git: Git, base: string, onto: string, head: string): string | undefined {
  const [ours, theirs] = [onto, head].map((oid) => git.say('commit-tree', `${oid}^{tree}`, '-p', base, '-m', 'side'))
  try {
    const args = ['merge-tree', '--write-tree', '--no-messages', ours ?? '', theirs ?? '']
    return git
      .run(args, { env: { GIT_ATTR_SOURCE: emptyTree } })
      .toString('latin1')
      .trim()
  } catch {
    return undefined
  }
}

function succeeds(git: Git, args: readonly string[]): boolean {
  try {
    git.run(args)
    return true
  } catch {
    return false
  }
}

export interface Clone {
  readonly dir: string
  say(...args: readonly string[]): string
  /** True if Git ended with 0. */
  tries(...args: readonly string[]): boolean
}

/** A clone with a work tree, for the commands of Git that need one. Its objects also reach the repository. */
export function cloneOf(git: Git): Clone {
  const dir = mkdtempSync(join(folder, 'clone-'))
  const { GIT_DIR: _, ...env } = environment(git.dir)
  const run = (args: readonly string[]) => execFileSync('git', args, { env, cwd: dir, stdio: 'pipe', maxBuffer: 1e9 })
  run(['init', '-q'])
  // Both use one folder of objects.
  rmSync(join(dir, '.git/objects'), { recursive: true })
  execFileSync('ln', ['-s', join(git.dir, 'objects'), join(dir, '.git/objects')])
  return {
    dir,
    say: (...args) => run(args).toString('utf8').trimEnd(),
    tries: (...args) => {
      try {
        run(args)
        return true
      } catch {
        return false
      }
    },
  }
}

/** Bare repositories to try the store on, and what makes them. */

import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type git from 'isomorphic-git'
import { GitError } from '../../gitstore/errors.ts'
import { newObjectBatch, type ObjectDraft } from '../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../gitstore/objects/tree-changes.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { Store } from '../../gitstore/store.ts'

export const ann = { name: 'Änn', email: 'ann@example.org', timestamp: 1_700_000_000, timezoneOffset: -60 }

export let folder: string

/** A new bare repository, and git in it. */
export async function bareRepo() {
  const dir = join(await mkdtemp(join(folder, 'repo-')), 'page.git')
  const env = {
    PATH: process.env.PATH,
    GIT_DIR: dir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Git',
    GIT_AUTHOR_EMAIL: 'git@example.org',
    GIT_COMMITTER_NAME: 'Git',
    GIT_COMMITTER_EMAIL: 'git@example.org',
  }
  const git = (args: string[], input: string | Buffer = '', more: Record<string, string> = {}) =>
    execFileSync('git', args, { env: { ...env, ...more }, input, stdio: 'pipe', maxBuffer: 1e9 })
  const say = (...args: Parameters<typeof git>) =>
    git(...args)
      .toString('utf8')
      .trimEnd()
  git(['init', '-q', '--bare', dir])
  const repo: Repo = { dir }
  return { repo, dir, git, say }
}

/** Saves one commit whose files are exactly these. */
export async function commitFiles(
  repo: Repo,
  files: Record<string, string>,
  parents: Oid[] = [],
  message = 'A change',
) {
  const draft = newObjectBatch(repo)
  const tree = await treeOf(draft, files)
  const oid = await draft.commit({ tree, parents, author: ann, committer: ann, message })
  await draft.save()
  return oid
}

export async function treeOf(draft: ObjectDraft, files: Record<string, string>) {
  const changes = Object.entries(files).map(async ([path, text]) => ({
    path,
    blob: await draft.blob(Buffer.from(text)),
  }))
  return applyChanges(draft, null, await Promise.all(changes))
}

export async function refusal(promise: Promise<unknown>) {
  try {
    await promise
  } catch (error) {
    if (error instanceof GitError) return { code: error.code, facts: error.facts }
    throw error
  }
  return undefined
}

/** Few names, so that random trees meet: files where others have folders, names above U+FFFF, bytes that are not UTF-8. */
export const name = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'é', '\u{1f333}', '\uff5e', '\udcff')

/** A path's bytes, one character each, as git's own output is read here. */
export function latin(path: string) {
  const parts = path.split(/((?<![\ud800-\udbff])[\udc80-\udcff])/)
  return parts
    .map((part, i) => (i % 2 ? String.fromCharCode(part.charCodeAt(0) - 0xdc00) : Buffer.from(part).toString('latin1')))
    .join('')
}

/** A store of one process over the repositories below `root`. */
export async function newStore(root: string): Promise<Store> {
  const run = join(root, 'run')
  await mkdir(join(run, 'one'), { recursive: true })
  return {
    root,
    run,
    process: 'one',
    claimDeadProcess: () => undefined,
    onRecovered: async () => undefined,
    indexRepo: async () => undefined,
    onReadOnly: () => undefined,
  }
}

/** A folder for the repositories of one describe. */
export function useFolder(): void {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-gitstore-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))
}

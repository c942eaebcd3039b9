/** Git's own `<ref>.lock`, linked into place complete and owned, so that it is never empty and never ownerless. */
import { link, mkdir, readdir, readFile, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import type { Repo } from './repo.ts'
import type { Store } from './store.ts'

/** Milliseconds that one owner may hold a lock before those who wait give up. */
const patience = 1_000
/** Milliseconds after which a lock without an owner is removed: twice the longest timeout of a git process. */
const abandoned = 20 * 60_000
/** Milliseconds that a lock is only waited for, before its owner's life is asked after. */
const benefitOfTheDoubt = 30

export interface RefName {
  readonly repo: Repo
  /** In full: `refs/heads/main`. */
  readonly ref: string
}

export function lockPath({ repo, ref }: RefName): string {
  return `${join(repo.dir, ref)}.lock`
}

/**
 * Links `token` (a complete file that names its owner) to `path`, waiting while others hold it.
 *
 * @throws GitError busy, repo_missing, ref_name_taken (a component of the name is a ref itself)
 */
export async function linkLock(
  store: Store,
  recover: (process: string, transaction: string) => Promise<void>,
  token: string,
  path: string,
  repo: Repo,
): Promise<void> {
  let owner = ''
  let since = performance.now()
  let foldersMade = 0
  for (;;) {
    try {
      await link(token, path)
      return
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT' && foldersMade++ < 20) await makeRefFolder(repo, dirname(path))
      else if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A branch of that name stands in the way')
      else if (code !== 'EEXIST') throw asStorageFault(error)
    }
    const now = await readLock(path)
    if (now === undefined) continue
    if (now !== owner) {
      owner = now
      since = performance.now()
    }
    const waited = performance.now() - since
    if (waited > benefitOfTheDoubt && (await removeIfDead(store, recover, path, owner))) continue
    if (waited > patience) throw new GitError('busy', 'Another process holds this ref; nothing was changed')
    await sleep(1 + Math.random() * Math.min(10, 2 + waited / 10))
  }
}

/** The owner that a token names, `<process>/<transaction>`, or undefined for a lock of native git's. */
function ownerOf(token: string): { process: string; transaction: string } | undefined {
  const match = /^grove ([\w-]+)\/([\w-]+)\n$/.exec(token)
  return match?.[1] && match[2] ? { process: match[1], transaction: match[2] } : undefined
}

/** The text of a lock, or undefined where there is none. */
export async function readLock(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'latin1')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw asStorageFault(error)
  }
}

async function removeIfDead(
  store: Store,
  recover: (process: string, transaction: string) => Promise<void>,
  path: string,
  token: string,
): Promise<boolean> {
  const owner = ownerOf(token)
  if (owner?.process === store.process) return false
  if (owner) {
    const claim = store.takeOver(owner.process)
    if (claim) {
      try {
        await recover(owner.process, owner.transaction)
      } finally {
        claim.release()
      }
      return true
    }
  }
  const age = await stat(path).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  )
  if (age < abandoned || (owner && (await exists(join(store.run, owner.process))))) return false
  await unlink(path).catch(() => undefined)
  return true
}

/**
 * Makes the folders of a ref below `refs/`, never `refs/` itself: a repository that was moved away must not come back.
 * `git pack-refs` removes empty folders meanwhile; whoever calls tries again.
 */
async function makeRefFolder(repo: Repo, folder: string): Promise<void> {
  const parts = relative(repo.dir, folder).split(sep)
  for (let depth = 2; depth <= parts.length; depth++) {
    try {
      await mkdir(join(repo.dir, ...parts.slice(0, depth)))
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT' && !(await exists(join(repo.dir, 'refs'))))
        throw new GitError('repo_missing', 'The repository does not exist')
      if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A branch of that name stands in the way')
      if (code !== 'EEXIST' && code !== 'ENOENT') throw asStorageFault(error)
    }
  }
  if (parts.length < 2 && !(await exists(folder))) throw new GitError('repo_missing', 'The repository does not exist')
}

/** Removes the empty folders that stand where a ref is to be written; one that is not empty stays. */
export async function removeEmptyFolders(path: string): Promise<void> {
  const children = await readdir(path, { withFileTypes: true }).catch(() => [])
  for (const child of children) if (child.isDirectory()) await removeEmptyFolders(join(path, child.name))
  await rmdir(path).catch(() => undefined)
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

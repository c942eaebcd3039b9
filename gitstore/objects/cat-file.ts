/**
 * Reads packed objects with `git cat-file --batch-command`. There is one process per repository and a few in total, and
 * they end soon after use. Git maps a pack piece by piece. A reader in this process would hold it whole.
 */

import { statSync } from 'node:fs'
import { createSemaphore } from '../concurrency/semaphore.ts'
import { asStorageError, GitError } from '../errors.ts'
import { isAbsent } from '../fs-exists.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import { CatFile, type CatFileAnswer, CatFileEndedError } from './cat-file-process.ts'
import type { Allow } from './loose.ts'
import type { ObjectInfo } from './object-format.ts'

/**
 * The limit of shared processes. For a new one, the least recently used idle process ends, else the least recently
 * used.
 */
const maxProcesses = 8
/** Milliseconds after which a busy process is replaced. It then closes deleted packs that it holds open. */
const maxAgeMs = 60_000
/** The number of processes that may end before they begin a query. Then the query fails. */
const maxEnds = 10

/**
 * Returns the object that Git finds, wherever it is, or undefined. Git reads the content only if `allow` does not
 * throw. Takes 0.2 ms if a process is running, 6 ms otherwise. The content is not compared with the id.
 *
 * @throws GitError object_damaged, repo_missing, native_failed, storage_*, busy (no process can be started)
 * @throws any error of `allow`
 */
export function readByGit(repo: Repo, oid: Oid, allow: Allow): Promise<PendingObject | undefined> {
  return askGit(repo, oid, (catFile) => catFile.read(oid, allow))
}

/** Returns the object's type and size, without its content. Otherwise behaves as readByGit. */
export function readInfoByGit(repo: Repo, oid: Oid): Promise<ObjectInfo | undefined> {
  return askGit(repo, oid, (catFile) => catFile.info(oid))
}

type Ask<T> = (catFile: CatFile) => Promise<CatFileAnswer<T>>

async function askGit<T>(repo: Repo, oid: Oid, ask: Ask<T>): Promise<T | undefined> {
  for (let ends = 0; ; ends++) {
    try {
      const { found, complaints } = await askShared(repo, ask)
      return found ?? (complaints === '' ? undefined : await askAlone(repo, oid, ask))
    } catch (error) {
      if (!(error instanceof CatFileEndedError)) throw error
      if (error.isCurrent) return askAlone(repo, oid, ask)
      if (ends === maxEnds) throw new GitError('native_failed', 'git cat-file ends again and again', error.facts)
    }
  }
}

/** True if a process for the repository is running. It may be busy. */
export function hasCatFile(repo: Repo): boolean {
  return sharedByDir.has(repo.dir)
}

/** Ends every process. A reader that waits for a shared process asks a new one. A reader in `askAlone` fails. */
export function endCatFiles(): void {
  for (const catFile of [...alive]) catFile.end()
}

const oneAtATime = createSemaphore({ running: 1 })

/** Asks in a separate process. Its end and its error output then concern only this object. */
function askAlone<T>(repo: Repo, oid: Oid, ask: Ask<T>): Promise<T | undefined> {
  return oneAtATime.run({}, async () => {
    const catFile = startCatFile(repo, '')
    try {
      const { found } = await ask(catFile)
      if (found) return found
      await catFile.finish()
      if (catFile.complaints === '') return undefined
      throw new GitError('object_damaged', `Object ${oid} is damaged`, { oid, stderr: catFile.complaints })
    } catch (error) {
      if (!(error instanceof CatFileEndedError)) throw error
      if (error.byItself) throw new GitError('object_damaged', `Object ${oid} is damaged`, { oid, ...error.facts })
      throw new GitError('native_failed', 'git cat-file was killed, or did not answer', { oid, ...error.facts })
    } finally {
      catFile.end()
    }
  })
}

/** Processes that take queries, by folder, the least recently used first. */
const sharedByDir = new Map<string, CatFile>()
const alive = new Set<CatFile>()
const waitingForEnd: (() => void)[] = []

function startCatFile(repo: Repo, identity: string): CatFile {
  const made = new CatFile(repo, identity, {
    left: (catFile) => {
      if (sharedByDir.get(repo.dir) === catFile) sharedByDir.delete(repo.dir)
    },
    ended: (catFile) => {
      alive.delete(catFile)
      for (const go of waitingForEnd.splice(0)) go()
    },
  })
  alive.add(made)
  return made
}

/**
 * Asks the shared process of a repository. Finds and asks it in one turn, so that it cannot end as idle in between.
 *
 * @throws the errors of readByGit, and CatFileEndedError
 */
async function askShared<T>(repo: Repo, ask: Ask<T>): Promise<CatFileAnswer<T>> {
  for (;;) {
    const identity = identityOf(repo)
    const known = sharedByDir.get(repo.dir)
    if (known?.identity === identity && performance.now() - known.born < maxAgeMs) {
      sharedByDir.delete(repo.dir)
      sharedByDir.set(repo.dir, known)
      return ask(known)
    }
    known?.retire()
    if (alive.size < maxProcesses) {
      const made = startCatFile(repo, identity)
      sharedByDir.set(repo.dir, made)
      return ask(made)
    }
    const all = [...sharedByDir.values()]
    const first = all.find((catFile) => catFile.isIdle) ?? all[0]
    first?.retire()
    await new Promise<void>((resolve) => waitingForEnd.push(resolve))
  }
}

/**
 * Identifies the repository itself, because another may replace it under the same path.
 *
 * @throws GitError repo_missing, storage_*
 */
function identityOf(repo: Repo): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(`${repo.dir}/objects`, { bigint: true })
    return `${dev} ${ino} ${birthtimeNs}`
  } catch (error) {
    if (!isAbsent(error)) throw asStorageError(error)
    throw new GitError('repo_missing', 'The repository does not exist', { dir: repo.dir }, { cause: error })
  }
}

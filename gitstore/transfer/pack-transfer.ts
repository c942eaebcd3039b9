/** Updates a copy of a repository on another machine. Sends the missing objects as one pack, then the refs. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { replaceFile, syncDirectory } from '../durable.ts'
import { GitError } from '../errors.ts'
import { type GitProcess, killGroup, spawnGit, toStartError, writeInput } from '../native.ts'
import { sentenceOf } from '../objects/fsck.ts'
import { packedRefsPath, packedRefsText } from '../refs/packed-refs.ts'
import type { Oid, Repo } from '../repo.ts'

/**
 * Settings for both Git processes. They use one thread, and bounded memory for large files and for the search for
 * deltas.
 */
const settings = ['pack.threads=1', 'pack.windowMemory=64m', 'core.bigFileThreshold=4m', 'core.deltaBaseCacheLimit=32m']
const maxComplaintCharacters = 65_536

type Refs = ReadonlyMap<string, Oid>

/** A hexadecimal digest that is the same for equal refs in any order. */
export function refsDigest(refs: Refs): string {
  return createHash('sha256').update(packedRefsText(refs, 'any object')).digest('hex')
}

/**
 * Gives `send` a pack of the objects that `refs` reach and `known` do not. Git writes the pack while it is sent.
 * Nothing is sent if `known` contains every object that `refs` point at.
 *
 * @throws GitError native_failed with Git's message
 * @throws any error of `send`, and the reason of `signal`
 */
export async function sendMissing(
  repo: Repo,
  refs: Refs,
  known: Refs,
  send: (pack: Readable) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const there = new Set(known.values())
  const wanted = [...new Set(refs.values())].filter((oid) => !there.has(oid))
  if (wanted.length === 0) return
  const child = startGit(repo, ['pack-objects', '--quiet', '--revs', '--stdout', '--delta-base-offset', '--thin'])
  child.stdin.end([...wanted, '--not', ...there, ''].join('\n'))
  // When a process ends, Node drops output that was not read yet.
  const pack = child.stdout.pipe(new PassThrough())
  await whole(child, signal, () => send(pack))
}

/**
 * Writes the objects of such a pack, durably. They do not belong to the repository until a ref reaches them.
 *
 * @throws the errors of sendMissing, and GitError storage_*
 */
export async function receivePack(repo: Repo, pack: Readable, signal: AbortSignal): Promise<void> {
  const child = startGit(repo, ['index-pack', '--stdin', '--fix-thin'])
  child.stdout.resume()
  writeInput(pack, child)
  await whole(child, signal)
  for (const folder of ['objects/pack', 'objects']) await syncDirectory(join(repo.dir, folder))
}

/**
 * Replaces all refs of the repository by `refs`, durably. No other process may write to it, and no ref may be loose.
 *
 * @throws GitError storage_*
 */
export async function replaceRefs(repo: Repo, refs: Refs): Promise<void> {
  await replaceFile(packedRefsPath(repo), packedRefsText(refs, 'any object'))
}

function startGit(repo: Repo, args: readonly string[]): GitProcess {
  const options = settings.flatMap((setting) => ['-c', setting])
  return spawnGit(repo, ['-c', 'safe.directory=*', ...options, ...args], { priority: 'transfer' })
}

/** Runs `work` until it and Git have ended. Git's own error is more useful than the one of `work`, so it wins. */
async function whole(child: GitProcess, signal: AbortSignal, work = async () => {}): Promise<void> {
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-maxComplaintCharacters)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) => reject(toStartError(cause)))
    child.once('close', resolve)
  })
  const cancel = () => killGroup(child)
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    const working = work().catch((error: unknown) => {
      killGroup(child)
      throw error
    })
    const [worked, code] = await Promise.allSettled([working, ended])
    signal.throwIfAborted()
    if (code.status === 'rejected') throw code.reason
    if (code.value !== null && code.value !== 0)
      throw new GitError('native_failed', `git: ${sentenceOf(stderr)}`, { stderr })
    if (worked.status === 'rejected') throw worked.reason
    if (code.value === null) throw new GitError('native_failed', 'git was killed', { stderr })
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Brings a copy of a repository, on another machine, up to date: the objects that it lacks as one pack, then its refs. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { replaceFile, syncDirectory } from '../durable.ts'
import { GitError } from '../errors.ts'
import { type GitProcess, killGroup, spawnGit, toStartError, writeInput } from '../native.ts'
import { sentenceOf } from '../objects/fsck.ts'
import { packedRefsPath, packedRefsText } from '../refs/packed-refs.ts'
import type { Oid, Repo } from '../repo.ts'

/** Of either git: one thread, and bounded memory for large files and for the search for deltas. */
const settings = ['pack.threads=1', 'pack.windowMemory=64m', 'core.bigFileThreshold=4m', 'core.deltaBaseCacheLimit=32m']
const maxComplaintCharacters = 65_536

type Refs = ReadonlyMap<string, Oid>

/** The same for equal refs, whatever order they come in: hexadecimal. */
export function refsDigest(refs: Refs): string {
  return createHash('sha256').update(packedRefsText(refs, 'any object')).digest('hex')
}

/**
 * Gives `send` a pack of what `refs` reach and `known` do not; git writes it meanwhile. Nothing is sent where `known` have all
 * that `refs` point at.
 *
 * @throws GitError native_failed with git's message; what `send` throws; the reason of `signal`
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
 * Writes the objects of such a pack, durably. They are no part of the repository before a ref reaches them.
 *
 * @throws as sendMissing; GitError storage_*
 */
export async function receivePack(repo: Repo, pack: Readable, signal: AbortSignal): Promise<void> {
  const child = startGit(repo, ['index-pack', '--stdin', '--fix-thin'])
  child.stdout.resume()
  writeInput(pack, child)
  await whole(child, signal)
  for (const folder of ['objects/pack', 'objects']) await syncDirectory(join(repo.dir, folder))
}

/** Makes `refs` all that the repository has, durably; no process else writes to it, and no ref is loose. @throws GitError storage_* */
export async function replaceRefs(repo: Repo, refs: Refs): Promise<void> {
  await replaceFile(packedRefsPath(repo), packedRefsText(refs, 'any object'))
}

function startGit(repo: Repo, args: readonly string[]): GitProcess {
  const options = settings.flatMap((setting) => ['-c', setting])
  return spawnGit(repo, ['-c', 'safe.directory=*', ...options, ...args], { priority: 'transfer' })
}

/** Until git has ended, and `work` beside it. What git says is more than what `work` says of it. */
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

/**
 * Runs Git and `sync`. Each process has a closed environment, a process group, and limits of time and output. Only this
 * file uses child_process.
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { release, setPriority } from 'node:os'
import type { Readable } from 'node:stream'
import { codeOf, GitError } from './errors.ts'
import type { Repo } from './repo.ts'

/** The folders that are searched for programs. They belong to the machine, so config.ts does not read them. */
const searchPath = process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** The longest time that any Git process may run. Files that Git leaves behind are stale after twice that time. */
export const longestGitMs = 60 * 60_000
const defaultTimeoutMs = 60_000
const defaultMaxOutputBytes = 256 * 1024 * 1024
const maxErrorCharacters = 65_536

/** A Git process works for a REST request, a Git client, or background work. */
type Priority = 'request' | 'transfer' | 'background'

/** Added to the service's own niceness. */
const niceness: Readonly<Record<Priority, number>> = { request: 0, transfer: 10, background: 19 }

/** A running Git process with its three pipes. */
export type GitProcess = ChildProcessWithoutNullStreams

/** Process groups that are running. They end with the service. */
const running = new Set<GitProcess>()
process.once('exit', () => {
  for (const child of running) killGroup(child)
})

export function runningGits(): number {
  return running.size
}

/** Processes that were killed because they ran out of time. */
const timedOut = new WeakSet<GitProcess>()

interface SpawnOptions {
  readonly env?: Record<string, string>
  /** Default: the root folder. */
  readonly cwd?: string
  /** The number of open descriptors above 2, each in both directions. Git's hooks inherit them. */
  readonly pipes?: number
  /** Default: `request`. */
  readonly priority?: Priority
  /** Kills Git and its group after this time. Default: `longestGitMs`. */
  readonly timeoutMs?: number
}

/**
 * Starts Git in `repo` as the leader of a new process group. The service's environment and the machine's Git
 * configuration do not reach it. Hooks and transports of the repository do not run. Bytes written to a process that has
 * ended are dropped, because an unhandled EPIPE would end the service. If Git cannot be found, the child emits 'error'.
 *
 * @throws GitError busy: out of files, processes or memory
 */
export function spawnGit(repo: Repo, args: readonly string[], options: SpawnOptions = {}): GitProcess {
  const { env, cwd = '/', pipes = 0, priority = 'request', timeoutMs = longestGitMs } = options
  const settings = ['core.fsync=all', 'gc.auto=0', 'receive.autogc=false', 'core.hooksPath=/dev/null']
  const child = start('git', [...settings.flatMap((setting) => ['-c', setting]), ...args], cwd, pipes, {
    PATH: searchPath,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    // No protocol is allowed. The repository's configuration cannot change that.
    GIT_ALLOW_PROTOCOL: '',
    GIT_DIR: repo.dir,
    ...env,
  })
  setNiceness(child, niceness[priority])
  const timer = setTimeout(() => {
    timedOut.add(child)
    killGroup(child)
  }, timeoutMs).unref()
  const forget = () => {
    clearTimeout(timer)
    running.delete(child)
  }
  running.add(child)
  child.once('close', forget).once('error', forget)
  for (const pipe of [child.stdin, ...child.stdio.slice(3)]) pipe?.on('error', () => undefined)
  return child
}

function start(
  program: 'git' | 'sync',
  args: readonly string[],
  cwd: string,
  pipes: number,
  env: Record<string, string>,
): GitProcess {
  let child: Partial<GitProcess> & Pick<GitProcess, 'once'>
  try {
    child = spawn(program, args, {
      cwd,
      detached: true,
      stdio: Array.from({ length: 3 + pipes }, () => 'pipe' as const),
      env,
    })
  } catch (error) {
    throw toStartError(error)
  }
  child.once('error', () => undefined)
  // If there is no file for a pipe, Node makes no pipe and reports the error in the next turn.
  if (!child.stdin || !child.stdout || !child.stderr)
    throw toStartError(Object.assign(new Error('No pipe'), { code: 'EMFILE' }))
  return child as GitProcess // all its pipes exist
}

const shortages: readonly unknown[] = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']

/**
 * The error for a program that was not started. It is busy if files, processes or memory are short, otherwise
 * native_failed.
 */
export function toStartError(cause: unknown): GitError {
  return shortages.includes(codeOf(cause))
    ? new GitError('busy', 'Cannot start git: out of file descriptors, processes or memory', {}, { cause })
    : new GitError('native_failed', 'git could not be started', {}, { cause })
}

function setNiceness({ pid }: GitProcess, added: number): void {
  if (pid === undefined || added === 0) return
  try {
    setPriority(pid, added)
  } catch {
    // It has already ended.
  }
}

/** Kills Git and its children. */
export function killGroup(child: GitProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

/** Pipes a client's data into Git. Ends Git's input when the client disconnects, and Git then reports the error. */
export function writeInput(input: Readable, { stdin }: GitProcess): void {
  const stop = () => stdin.end()
  input.once('error', stop)
  input.once('close', () => input.readableEnded || stop())
  // Git has ended its input, as it does once it has a complete pack. The client may still send, or report its end.
  stdin.once('close', () => input.unpipe(stdin))
  input.pipe(stdin)
}

interface RunOptions extends Pick<SpawnOptions, 'env' | 'priority'> {
  readonly input?: Buffer
  /** Default: a minute. */
  readonly timeoutMs?: number
  /** Default: 256 MiB. */
  readonly maxOutputBytes?: number
  /** Kills Git when it is aborted. */
  readonly signal?: AbortSignal
  /** Receives the output, piece by piece, instead of `stdout`. Returning false ends Git early. */
  readonly take?: (chunk: Buffer) => boolean
}

export interface GitRun {
  /** Also 0 if `take` has ended Git. */
  readonly code: number
  readonly stdout: Buffer
  /** For the log only. */
  readonly stderr: string
}

/**
 * Runs Git to its end and returns any exit code. Arguments from outside belong after `--end-of-options` or `--`. Git
 * sees only files on disk, never the pending objects of a batch.
 *
 * @throws GitError busy, native_failed (not started, killed, or out of time with facts.timedOut), limit_exceeded
 *   (output)
 * @throws any error of `take`
 */
export async function runGit(repo: Repo, args: readonly string[], options: RunOptions = {}): Promise<GitRun> {
  const { input, env = {}, priority = 'request', signal, take } = options
  const { timeoutMs = defaultTimeoutMs, maxOutputBytes = defaultMaxOutputBytes } = options
  const child = spawnGit(repo, args, { env, priority, timeoutMs })
  const output: Buffer[] = []
  let size = 0
  let stderr = ''
  let failure: unknown
  let isEnough = false
  const fail = (error: unknown) => {
    failure ??= error
    killGroup(child)
  }
  const hand = (chunk: Buffer) => {
    if (isEnough || failure !== undefined) return
    try {
      isEnough = take?.(chunk) === false
    } catch (error) {
      fail(error)
    }
    if (isEnough) killGroup(child)
  }
  const cancel = () => fail(new GitError('native_failed', 'git was stopped', { args }))
  signal?.addEventListener('abort', cancel, { once: true })
  if (signal?.aborted) cancel()
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxOutputBytes) fail(new GitError('limit_exceeded', `git wrote over ${maxOutputBytes} bytes`, { args }))
    else if (take) hand(chunk)
    else output.push(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-maxErrorCharacters)
  })
  child.stdin.end(input)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (cause) => reject(toStartError(cause)))
      child.once('close', (code, signal) => {
        if (failure !== undefined) reject(failure)
        else if (isEnough) resolve({ code: 0, stdout: Buffer.alloc(0), stderr })
        else if (timedOut.has(child))
          reject(new GitError('native_failed', `git ran for ${timeoutMs} ms`, { args, timedOut: true }))
        else if (code === null) reject(new GitError('native_failed', `git ended by ${signal}`, { args, stderr }))
        else resolve({ code, stdout: Buffer.concat(output), stderr })
      })
    })
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

/** The version of Git, such as `2.39.5`. @throws GitError native_failed: Git is not installed */
export async function gitVersion(): Promise<string> {
  const output = await runGitOrThrow({ dir: '/' }, ['version'])
  return output.toString().trim().split(' ')[2] ?? ''
}

/**
 * Runs Git as runGit does, but throws for any exit code except 0.
 *
 * @throws GitError native_failed (facts.stderr), limit_exceeded
 */
export async function runGitOrThrow(repo: Repo, args: readonly string[], options?: RunOptions): Promise<Buffer> {
  const { code, stdout, stderr } = await runGit(repo, args, options)
  if (code !== 0) throw new GitError('native_failed', `git ended with ${code}`, { args, stderr })
  return stdout
}

/** The time limit for `sync`, which also writes the pending data of other programs. */
const syncTimeoutMs = 60_000
/** Characters of error output that are kept. */
const maxComplaintCharacters = 4_096

/** True if syncfs reports failed writes on this machine: Linux 5.8 or newer. */
let hasSyncfs = process.platform === 'linux' && isFrom(release(), 5, 8)

function isFrom(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split('.').map(Number)
  return first > major || (first === major && second >= minor)
}

/**
 * Makes everything written to the file system of `dir` durable, files and names. Runs `sync -f`, because Node does not
 * have the system call syncfs. On an idle disk it takes 4 ms, plus the time that the disk needs for pending data.
 * Returns false if this machine cannot do it. The caller then syncs each file.
 *
 * @throws GitError storage_error (facts.sync), busy: no process can be started
 */
export async function syncFileSystem(dir: string): Promise<boolean> {
  if (!hasSyncfs) return false
  const outcome = await runSync(dir)
  if (outcome === 'done') return true
  if (outcome === 'unknown') hasSyncfs = false
  else throw new GitError('storage_error', 'The file system could not sync', { sync: true, stderr: outcome.stderr })
  return false
}

type SyncOutcome = 'done' | 'unknown' | { readonly stderr: string }

function runSync(dir: string): Promise<SyncOutcome> {
  const child = start('sync', ['-f', dir], '/', 0, { PATH: searchPath, LC_ALL: 'C' })
  let stderr = ''
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-maxComplaintCharacters)
  })
  child.stdin.on('error', () => undefined).end()
  return new Promise((resolve, reject) => {
    // A process that waits for the disk cannot be killed, so this does not wait for its end.
    const timer = setTimeout(() => {
      killGroup(child)
      resolve({ stderr: `sync ran for ${syncTimeoutMs} ms` })
    }, syncTimeoutMs)
    child.once('error', (cause) => {
      clearTimeout(timer)
      if (codeOf(cause) === 'ENOENT') resolve('unknown')
      else reject(toStartError(cause))
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve('done')
      else if (/option|usage/i.test(stderr)) resolve('unknown')
      else resolve({ stderr: stderr || `sync ended by ${signal ?? code}` })
    })
  })
}

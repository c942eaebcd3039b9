/** Git itself, as a process: closed environment, own process group, bounded time and output. The only child_process. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { codeOf, GitError } from './errors.ts'
import type { Repo } from './repo.ts'

/** Where `git` is, a fact of the machine like its file system and no setting of Grove: hence not from config.ts. */
const searchPath = process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** Milliseconds that any git process may run; whatever it leaves behind is nobody's after twice that. */
export const longestGit = 60 * 60_000
/** Added to the priority of git that serves a client, and of git that only tidies up: REST goes before both. */
export const serviceNiceness = 10
export const backgroundNiceness = 19
const defaultTimeoutMs = 60_000
const defaultMaxOutputBytes = 256 * 1024 * 1024
const maxErrorCharacters = 65_536

/** A git that goes on, with its three pipes. */
export type GitProcess = ChildProcessWithoutNullStreams

/** Groups that are alive, to be killed with the server. */
const running = new Set<GitProcess>()
process.once('exit', () => {
  for (const child of running) killGroup(child)
})

/**
 * Starts git in `repo` as the leader of a process group of its own. Nothing of the server's environment or of the machine's
 * git configuration reaches it. What is written to a process that has ended is dropped (an unheard EPIPE would end ours).
 * `pipes` more descriptors are open from 3 on, each both ways; its hooks have them too. Where git is not there to be started,
 * the child says so by 'error'.
 *
 * @throws GitError busy: there are no files, processes or memory for it
 */
export function spawnGit(
  repo: Repo,
  args: readonly string[],
  env: Record<string, string> = {},
  {
    cwd = '/',
    pipes = 0,
    niceness = 0,
  }: { readonly cwd?: string; readonly pipes?: number; readonly niceness?: number } = {},
): GitProcess {
  const settings = ['core.fsync=all', 'gc.auto=0', 'receive.autogc=false', 'protocol.allow=never']
  const child = startGit([...settings.flatMap((setting) => ['-c', setting]), ...args], cwd, pipes, {
    PATH: searchPath,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_DIR: repo.dir,
    ...env,
  })
  if (niceness > 0) giveWay(child, niceness)
  running.add(child)
  child.once('close', () => running.delete(child))
  child.once('error', () => running.delete(child))
  for (const pipe of [child.stdin, ...child.stdio.slice(3)]) pipe?.on('error', () => undefined)
  return child
}

function startGit(args: readonly string[], cwd: string, pipes: number, env: Record<string, string>): GitProcess {
  let child: Partial<GitProcess> & Pick<GitProcess, 'once'>
  try {
    child = spawn('git', args, {
      cwd,
      detached: true,
      stdio: Array.from({ length: 3 + pipes }, () => 'pipe' as const),
      env,
    })
  } catch (error) {
    throw startFault(error)
  }
  child.once('error', () => undefined)
  // Without a file for a pipe, node makes no pipe at all and says why in the next turn.
  if (!child.stdin || !child.stdout || !child.stderr)
    throw startFault(Object.assign(new Error('No pipe'), { code: 'EMFILE' }))
  return child as GitProcess // its pipes are there
}

const shortages: readonly unknown[] = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']

/** Why git was not started: busy where files, processes or memory are short, else native_failed. */
export function startFault(cause: unknown): GitError {
  return shortages.includes(codeOf(cause))
    ? new GitError('busy', 'There are no files, processes or memory left for another git', {}, { cause })
    : new GitError('native_failed', 'git could not be started', {}, { cause })
}

function giveWay({ pid }: GitProcess, niceness: number): void {
  if (pid === undefined) return
  try {
    setPriority(pid, niceness)
  } catch {
    // it has ended by itself
  }
}

/** Kills git and whatever it started. */
export function killGroup(child: GitProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // it has ended by itself
  }
}

interface GitOptions {
  readonly input?: Buffer
  readonly env?: Record<string, string>
  readonly timeoutMs?: number
  readonly maxOutputBytes?: number
  /** Kills git when it is aborted. */
  readonly signal?: AbortSignal
  /** Default: 0, as the service itself. */
  readonly niceness?: number
}

export interface GitRun {
  readonly code: number
  readonly stdout: Buffer
  /** For the log only. */
  readonly stderr: string
}

/**
 * Runs git to its end; any exit code is an answer. Arguments that come from outside belong after `--end-of-options` or `--`.
 * Git sees what is on disk, never a draft's pending objects.
 *
 * @throws GitError native_failed (not started, killed, or out of time), limit_exceeded (output)
 */
export async function runGit(repo: Repo, args: readonly string[], options: GitOptions = {}): Promise<GitRun> {
  const { input, env, timeoutMs = defaultTimeoutMs, maxOutputBytes = defaultMaxOutputBytes } = options
  const { signal, niceness = 0 } = options
  const child = spawnGit(repo, args, env, { niceness })
  const output: Buffer[] = []
  let size = 0
  let stderr = ''
  let failure: GitError | undefined
  const fail = (error: GitError) => {
    failure ??= error
    killGroup(child)
  }
  const timer = setTimeout(
    () => fail(new GitError('native_failed', `git ran for ${timeoutMs} ms`, { args })),
    timeoutMs,
  )
  const cancel = () => fail(new GitError('native_failed', 'git was told to stop', { args }))
  signal?.addEventListener('abort', cancel, { once: true })
  if (signal?.aborted) cancel()
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxOutputBytes) fail(new GitError('limit_exceeded', `git wrote over ${maxOutputBytes} bytes`, { args }))
    else output.push(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-maxErrorCharacters)
  })
  child.stdin.end(input)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (cause) => reject(startFault(cause)))
      child.once('close', (code, signal) => {
        if (failure) reject(failure)
        else if (code === null) reject(new GitError('native_failed', `git ended by ${signal}`, { args, stderr }))
        else resolve({ code, stdout: Buffer.concat(output), stderr })
      })
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

/** As runGit, where only exit code 0 is an answer. @throws GitError native_failed (facts.stderr), limit_exceeded */
export async function runGitOrThrow(repo: Repo, args: readonly string[], options?: GitOptions): Promise<Buffer> {
  const { code, stdout, stderr } = await runGit(repo, args, options)
  if (code !== 0) throw new GitError('native_failed', `git ended with ${code}`, { args, stderr })
  return stdout
}

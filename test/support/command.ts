/** Runs `grove` as an operator does, and returns its exit code and output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { databaseEnvironment } from './postgres.ts'

export interface Finished {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly stdout: string
  /** Without the progress lines, for commands that get a data folder. */
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
}

/** Milliseconds after which a hung command is killed. Its test then fails, and no process remains. */
const hangsAfterMs = 400_000

const program = resolve('dist/cli.js')

/** Runs a command to its end. */
export async function grove(dataDir: string, ...args: string[]): Promise<Finished> {
  return withoutProgress(await runCommand(args, environmentOf(dataDir, await databaseEnvironment(dataDir))))
}

/** Threads that wait for a command. */
const idle: Worker[] = []

/**
 * Runs a command to its end, in a thread. The thread loads the program once for all commands of a process. A separate
 * process costs four times as much (test/README.md). It is for commands that are interrupted, killed or preloaded, or
 * that write to the log.
 */
export async function runCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const thread = idle.pop() ?? startThread()
  thread.postMessage({ args, env: { ...env } })
  const [finished] = await once(thread, 'message')
  idle.push(thread)
  return finished
}

function startThread(): Worker {
  const thread = new Worker(new URL('command-thread.cjs', import.meta.url), { workerData: { program }, execArgv: [] })
  thread.unref()
  return thread
}

/**
 * Starts a command as a process. It uses the data folder's database if the run uses PostgreSQL and `environment` names
 * none.
 */
export async function startGroveCommand(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  input?: string,
): Promise<Running> {
  const database = 'DATABASE_URL' in environment ? {} : await databaseEnvironment(dataDir)
  const child = spawn(process.execPath, [program, ...args], {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    timeout: hangsAfterMs,
    killSignal: 'SIGKILL',
    env: environmentOf(dataDir, { ...database, ...environment }),
  })
  child.stdin?.end(input)
  return { child, finished: outcomeOf(child).then(withoutProgress) }
}

function environmentOf(dataDir: string, more: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16', ...more }
}

/** Runs a command to its end, as a separate process. */
export async function runGroveCommand(...call: Parameters<typeof startGroveCommand>): Promise<Finished> {
  return (await startGroveCommand(...call)).finished
}

/** Waits for the child to end. Its output appears in `said` as it arrives. */
export function outcomeOf(child: ChildProcess, said = { stdout: '', stderr: '' }): Promise<Finished> {
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk
  })
  return new Promise((done) => child.once('close', (code) => done({ code, ...said })))
}

export function withoutProgress(finished: Finished): Finished {
  return { ...finished, stderr: finished.stderr.replace(/^\w+ \d+ % \d+\/\d+(, about \d+ \w+ left)?\n/gm, '') }
}

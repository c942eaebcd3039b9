/** `grove` as an operator runs it: its exit code, and what it says. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { databaseEnvironment } from './postgres.ts'

export interface Finished {
  /** Null: ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  /** Of commands that are given a data folder, without the progress. */
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
}

/** Milliseconds after which a command that hangs is killed, for its test to fail and nothing of it to stay. */
const hangsAfterMs = 400_000

const program = resolve('dist/cli.js')

/** To its end. */
export async function grove(dataDir: string, ...args: string[]): Promise<Finished> {
  return withoutProgress(await runCommand(args, environmentOf(dataDir, await databaseEnvironment(dataDir))))
}

/** Threads that wait for a command. */
const idle: Worker[] = []

/**
 * To its end, in a thread that loads the program once for all commands of a process: a process of its own costs four times
 * as much (test/README.md), and is for what is interrupted, killed or preloaded, and for what writes to the log.
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

/** With the database of the data folder, where all tests of the run are to use PostgreSQL and `environment` names none. */
export async function startGroveCommand(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Running> {
  const database = 'DATABASE_URL' in environment ? {} : await databaseEnvironment(dataDir)
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: hangsAfterMs,
    killSignal: 'SIGKILL',
    env: environmentOf(dataDir, { ...database, ...environment }),
  })
  return { child, finished: outcomeOf(child).then(withoutProgress) }
}

function environmentOf(dataDir: string, more: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16', ...more }
}

/** To its end, as a process of its own. */
export async function runGroveCommand(...call: Parameters<typeof startGroveCommand>): Promise<Finished> {
  return (await startGroveCommand(...call)).finished
}

/** To its end; what the child says is in `said` as it comes. */
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
  return { ...finished, stderr: finished.stderr.replace(/^\w+ \d+ % \d+\/\d+\n/gm, '') }
}

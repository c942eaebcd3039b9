/** `grove` as an operator runs it: its exit code, and what it says. */
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { databaseEnvironment } from './postgres.ts'

export interface Finished {
  /** Null: ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  /** Without the progress. */
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
}

/** Milliseconds after which a command that hangs is killed, for its test to fail and nothing of it to stay. */
const hangsAfterMs = 400_000

/** To its end. */
export async function grove(dataDir: string, ...args: string[]): Promise<Finished> {
  return startGroveCommand(dataDir, args, await databaseEnvironment(dataDir)).finished
}

export function startGroveCommand(
  dataDir: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Running {
  const child = spawn(process.execPath, [resolve('dist/cli.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: hangsAfterMs,
    killSignal: 'SIGKILL',
    env: { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16', ...environment },
  })
  return { child, finished: outcomeOf(child) }
}

export function outcomeOf(child: ChildProcess): Promise<Finished> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((done) =>
    child.once('close', (code) => done({ code, stdout, stderr: stderr.replace(/^\w+ \d+ % \d+\/\d+\n/gm, '') })),
  )
}

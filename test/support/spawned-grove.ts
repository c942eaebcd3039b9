/**
 * A service to test as a child process, as `npm start` runs it. It can be signalled, killed and measured. This file
 * loads nothing of the service.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { client } from './people.ts'
import { databaseEnvironment } from './postgres.ts'
import { endAfterFile, endsWithParent } from './processes.ts'
import { until } from './until.ts'

/** Milliseconds after which a signal that ends nothing fails the test. A service stops within 14 s. */
const endsWithinMs = 120_000
/** Milliseconds after which a service that does not listen fails the test. It waits 5 s for its index. */
const listensWithinMs = 300_000

export interface SpawnedGrove {
  readonly url: string
  readonly dataDir: string
  readonly pid: number
  /** The output to standard output and standard error so far. */
  output(): { stdout: string; stderr: string }
  /** Resolves when it has ended for any reason. The exit code is null after a signal. */
  readonly exited: Promise<number | null>
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
  /** Sends SIGKILL, which is like a power cut for the process. */
  kill(): Promise<void>
}

/**
 * Starts the service as `npm start` does, on any free port. Resolves when it says that it listens.
 *
 * @param through words before the command, of a program that becomes the command
 * @param folder a built checkout. Default: this one
 * @throws Error with its output if it ends
 */
export async function spawnGrove(
  dataDir: string,
  environment: Record<string, string> = {},
  through: readonly string[] = [],
  folder?: string,
): Promise<SpawnedGrove> {
  const flags = ['--max-old-space-size=2000', '--v8-pool-size=1']
  const [program = '', ...words] = [...through, process.execPath, ...endsWithParent, ...flags, 'dist/main.js']
  const child = endAfterFile(
    spawn(program, words, {
      stdio: 'pipe',
      cwd: folder,
      env: {
        ...process.env,
        UV_THREADPOOL_SIZE: '16',
        PORT: '0',
        DATA_DIR: dataDir,
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
        DISK_RESERVE: '0',
        ...(await databaseEnvironment(dataDir)),
        ...environment,
      },
    }),
  )
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  const exited = endOf(child)
  const url = await listening(child, output, exited)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    const code = await Promise.race([exited, sleep(endsWithinMs, 'late' as const, { ref: false })])
    if (code === 'late') throw new Error(`The service does not end after ${signal}:\n${output.stdout}${output.stderr}`)
    return code
  }
  return {
    url,
    dataDir,
    pid: child.pid ?? 0,
    exited,
    output: () => ({ ...output }),
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL')
    },
  }
}

/**
 * Resolves when the child has ended and its output has been read. Processes that it started may hold its pipes open, so
 * this waits only a while.
 */
async function endOf(child: ChildProcess): Promise<number | null> {
  const read = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  await Promise.race([read, sleep(2_000, undefined, { ref: false })])
  return code
}

async function listening(
  child: ChildProcess,
  output: { stdout: string; stderr: string },
  exited: Promise<number | null>,
): Promise<string> {
  const said = new Promise<string>((resolve) => {
    child.stdout?.on('data', () => {
      const url = /listening on (http:\/\/\S+)\n/.exec(output.stdout)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  const late = sleep(listensWithinMs, 'late' as const, { ref: false })
  const url = await Promise.race([said, late, exited.then(() => 'ended' as const)])
  if (url === 'late' || url === 'ended')
    throw new Error(
      `dist/main.js ${url === 'late' ? 'does not listen' : 'ended before it listened'}:\n${output.stdout}${output.stderr}`,
    )
  return url
}

/** Waits until everything is in the index. While a rebuild takes long, the service answers 503 busy. */
export async function untilReady(grove: { readonly url: string }): Promise<void> {
  await until(async () => (await client(grove).get('/readyz')).body?.status === 'ready')
}

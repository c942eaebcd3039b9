/** Sends requests from outside: one kept-alive connection for times, wrk for requests per second. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Headers, type Reply, send } from '../support/exchange.ts'
import { commandExists } from './peers.ts'

const run = promisify(execFile)

export interface Connection {
  /** @throws Error with the answer, if it has another status */
  get(path: string, headers?: Headers, status?: number): Promise<Reply>
  close(): void
}

/** Opens one socket and keeps it alive. The overhead besides the answer's own time is the same for all programs. */
export function connectTo(url: string, always: Headers = {}): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    get: async (path, headers = {}, status = 200) => {
      const reply = await send(url + path, { headers: { ...always, ...headers } }, agent)
      if (reply.status !== status) throw new Error(`${path} answered ${reply.status} ${reply.body.subarray(0, 500)}`)
      return reply
    },
    close: () => agent.destroy(),
  }
}

export interface Probe {
  /** Stops the requests. Returns the milliseconds of the longest answer since the start. */
  stop(): Promise<number>
}

/** Requests /healthz every 10 ms. A blocked event loop answers none of these requests. */
export function probe(url: string): Probe {
  const agent = new Agent({ keepAlive: true })
  const asked = new Set<Promise<void>>()
  let longest = 0
  const ask = async () => {
    const started = performance.now()
    await send(`${url}/healthz`, {}, agent)
    longest = Math.max(longest, performance.now() - started)
  }
  const timer = setInterval(() => {
    const answer = ask().finally(() => asked.delete(answer))
    asked.add(answer)
  }, 10)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(asked)
      agent.destroy()
      return longest
    },
  }
}

export interface Load {
  readonly headers?: Headers
  /** Default: 5 */
  readonly seconds?: number
  /** Awaited after the warm-up. */
  readonly started?: () => Promise<void>
}

/** Seconds of unmeasured load, for compilers and caches. They are the same for all programs. */
const warmUp = 4

/**
 * Requests per second that 8 connections get out of one thread of wrk, over all paths in turn. Undefined without wrk or
 * without a URL. wrk shares the cores with the measured program, which is the same for all.
 *
 * @throws Error if an answer is not 2xx or 3xx, or a socket fails
 */
export async function requestsPerSecond(url: string | undefined, paths: readonly string[], load: Load = {}) {
  if (url === undefined || !commandExists('wrk')) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'grove-wrk-'))
  try {
    const script = join(folder, 'paths.lua')
    await writeFile(script, scriptFor(paths))
    const headers = Object.entries(load.headers ?? {}).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const how = (seconds: number) => ['-t1', '-c8', `-d${seconds}s`, '--timeout', '60s', '-s', script, ...headers, url]
    await run('wrk', how(warmUp))
    await load.started?.()
    const { stdout } = await run('wrk', how(load.seconds ?? 5))
    const failed = /Non-2xx.*|Socket errors.*/.exec(stdout)
    if (failed) throw new Error(`wrk ${url}${paths[0]}: ${failed[0]}`)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function scriptFor(paths: readonly string[]): string {
  const list = paths.map((path) => JSON.stringify(path)).join(',')
  return `local paths = {${list}}
local n = 0
request = function()
  n = n % #paths + 1
  return wrk.format("GET", paths[n])
end
`
}

/** Measures the CPU time that one GET costs the service from socket to socket, and its parts. */

import type { Histories } from './histories.ts'
import { requestsPerSecond } from './load.ts'
import type { Peers } from './peers.ts'
import { computing } from './processes.ts'
import type { Report } from './report.ts'

/** Rounds over all paths. The minimum of each path counts, because other processes take the rest. */
const rounds = 3

export async function benchDoor(report: Report, _peers: Peers, { scene, long }: Histories): Promise<void> {
  const ways: readonly (readonly [string, string])[] = [
    ['every request: log, headers, spec (/healthz)', '/healthz'],
    ['and a token and its account (/auth/me)', '/auth/me'],
    ['and membership, the node, its refs, its neighbours (a node)', long.at],
    ['and 50 commits instead of neighbours (a page of history)', `${long.at}/tree/main/commits?limit=50`],
  ]
  const least = ways.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++) {
    for (const [at, [, path]] of ways.entries()) {
      const cost = await microseconds(scene, path)
      if (cost === undefined) {
        report.say('missing: wrk, so the cost of a GET is not measured')
        return
      }
      least[at] = Math.min(least[at] ?? cost, cost)
    }
  }
  const rows = ways.map(([what], at) => ({ what, p50: least[at] ?? 0, p99: least[at] ?? 0 }))
  report.rows(`one GET, the minimum of ${rounds} rounds`, 'µs of CPU time', rows)
}

/** Microseconds of CPU time per request, of all processes of the service. Undefined without wrk. */
async function microseconds({ grove, headers }: Histories['scene'], path: string): Promise<number | undefined> {
  const seconds = 3
  let before = 0
  const started = async () => {
    before = await computing(grove.pid)
  }
  const rate = await requestsPerSecond(grove.url, [path], { headers, seconds, started })
  return rate === undefined ? undefined : ((await computing(grove.pid)) - before) / (rate * seconds)
}

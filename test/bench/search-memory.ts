/** Measures the memory of several processes with search threads. Run as a program, it is one of these processes. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openSearchThread } from '../../server/domain/search/search-thread.ts'
import type { Report } from './report.ts'

const self = fileURLToPath(import.meta.url)
const processes = 4
const mib = 2 ** 20

/** MiB of one process without an index, and after its search thread has answered. */
interface Taken {
  readonly before: number
  readonly after: number
}

/** Measures four processes over one folder of segments, all open at once, like four workers. */
export async function benchMemory(
  report: Report,
  args: readonly [file: string, folder: string, orgId: string],
  query: string,
) {
  const children = Array.from({ length: processes }, () =>
    fork(self, [...args, query], { execArgv: ['--import', 'tsx'] }),
  )
  try {
    const taken = await Promise.all(children.map(takenBy))
    const [before, after] = (['before', 'after'] as const).map((key) => taken.reduce((sum, one) => sum + one[key], 0))
    report.say(
      `\n${processes} processes with a search thread each: ${Math.round(before ?? 0)} MiB without an index, ${Math.round(after ?? 0)} MiB once each has loaded it and answered`,
    )
  } finally {
    for (const child of children) child.kill()
  }
}

async function takenBy(child: ChildProcess): Promise<Taken> {
  const [taken] = (await once(child, 'message')) as [Taken] // sent by `run`
  return taken
}

async function run([file = '', folder = '', orgId = '', query = '']: readonly string[]): Promise<void> {
  const fail = (what: unknown) => console.error(what)
  const thread = openSearchThread(
    { file, vectorsFile: `${folder}/vectors.sqlite`, folder, memoryBytes: 256 * mib },
    { warned: fail, died: fail },
  )
  const ask = (id: string) =>
    thread.ask(id, { query, top_k: 10, expansion_depth: 'none', include_raw_text: false, today: '2026-12-01' })
  await ask('nobody')
  const before = memory()
  await ask(orgId)
  process.send?.({ before, after: memory() } satisfies Taken)
}

/** MiB of this process, with its share of the pages that it shares with other processes. */
function memory(): number {
  const [, kib = '0'] = /^Pss:\s+(\d+)/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8')) ?? []
  return Number(kib) / 1_024
}

if (process.argv[1] === self) await run(process.argv.slice(2))

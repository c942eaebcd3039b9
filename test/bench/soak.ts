/**
 * Runs mixed load on two workers: flat memory, no wrong answer, no file left open. `npm run soak [-- SECONDS]`, by
 * default 600.
 */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expectSound, newDataDir } from '../support/data-folder.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { rowOf } from './measure.ts'
import { machineLine, printTable } from './report.ts'
import { grownFiles, grownMemory, memoryOf, type Sample, sample } from './soak-watch.ts'
import { createWorld, type Outcome, type World } from './soak-world.ts'

const clients = 6
/** Parts of the run. A pause after each part counts memory and files. The first third is warm-up. */
const parts = 18
/** The tolerated share of answers that are 503 `busy`. */
const busyAtMost = 0.001
/** Milliseconds in which everything open must be closed, after the last request. */
const patience = 20_000

const seconds = Number(process.argv[2] ?? 600)
if (!(seconds >= 10)) {
  console.error('npm run soak [-- SECONDS], at least 10')
  process.exit(2)
}
/** How much the last third may exceed the second. The larger bound counts. A short run still has to fill its caches. */
const bound = seconds >= 300 ? { mib: 24, share: 0.1 } : { mib: 128, share: 0.5 }
/** The limit in MiB of a process with all its garbage. Six runs of 10 s beside other work had 428 to 522. */
const most = 640

interface Run {
  readonly outcomes: ReadonlyMap<string, number[]>
  /** Each sample follows a full garbage collection. */
  readonly samples: readonly (readonly Sample[])[]
  /** MiB: the maximum of any process before a collection. */
  readonly highest: number
  /** The maximum of each process in the first third. */
  readonly warm: readonly Sample[]
  readonly wrong: readonly string[]
  readonly busy: number
}

console.log(machineLine())
console.log(`${seconds} s of ${clients} clients on two workers`)
const dataDir = await newDataDir()
const collect = new URL('./collect.js', import.meta.url).href
const grove = await spawnGrove(dataDir, { WORKERS: '2', NODE_OPTIONS: `--import ${collect}` })
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void grove.stop().finally(() => process.exit(130)))
}
const problems: string[] = []
try {
  const world = await createWorld(grove, clients)
  const run = await soak(world)
  printOperations(run)
  problems.push(...run.wrong.slice(0, 20), ...judgeBusy(run), ...judgeMemory(run), ...(await judgeFiles(run)))
  await expectSound(dataDir).catch((error: unknown) => problems.push(`A repository is damaged: ${error}`))
} finally {
  const code = await grove.stop()
  if (code !== 0) problems.push(`The service ended with exit code ${code}`)
  problems.push(...errorsIn(grove.output().stderr))
  await rm(dataDir, { recursive: true, force: true })
}
console.log(problems.length === 0 ? '\nOK: no problems found' : `\n${problems.join('\n')}`)
process.exit(problems.length === 0 ? 0 : 1)

async function soak(world: World): Promise<Run> {
  const outcomes = new Map<string, number[]>()
  const wrong: string[] = []
  const samples: Sample[][] = []
  let busy = 0
  let highest = 0
  let loggedIn = performance.now()
  const note = (outcome: Outcome) => {
    const times = outcomes.get(outcome.operation) ?? []
    times.push(outcome.ms)
    outcomes.set(outcome.operation, times)
    if (outcome.busy) busy++
    if (outcome.wrong !== undefined) wrong.push(`${outcome.operation}: ${outcome.wrong}`)
  }
  for (let part = 0; part < parts; part++) {
    // In the warm-up each worker checks a password. argon2 takes 19 MiB for that and keeps it.
    const logIns = part < parts / 3 ? 4 : performance.now() - loggedIn > 300_000 ? 1 : 0
    for (let n = 0; n < logIns; n++) {
      await world.logIn()
      loggedIn = performance.now()
    }
    const until = performance.now() + (seconds * 1_000) / parts
    const work = async (at: number) => {
      while (performance.now() < until) note(await world.step(at))
    }
    await Promise.all(Array.from({ length: clients }, (_, at) => work(at)))
    world.disconnect()
    await sleep(500)
    const full = await sample(grove.pid)
    highest = Math.max(highest, ...full.map(({ memory }) => memory))
    for (const { pid } of full) process.kill(pid, 'SIGUSR2')
    await sleep(1_000)
    samples.push(await sample(grove.pid))
  }
  return { outcomes, samples, highest, warm: mostFiles(samples.slice(0, parts / 3)), wrong, busy }
}

/** Returns the sample of each process with the most files. */
function mostFiles(samples: readonly (readonly Sample[])[]): Sample[] {
  const most = new Map<number, Sample>()
  for (const one of samples.flat()) {
    if (one.files.length >= (most.get(one.pid)?.files.length ?? 0)) most.set(one.pid, one)
  }
  return [...most.values()]
}

function printOperations({ outcomes, busy }: Run): void {
  const all = [...outcomes].sort(([a], [b]) => (a < b ? -1 : 1))
  const line = (what: string, times: readonly number[]) => {
    const { p50, p99 } = rowOf(what, times)
    return [what, times.length.toLocaleString('en'), p50.toFixed(1), p99.toFixed(1)]
  }
  console.log()
  printTable([
    ['operation', 'count', 'p50 ms', 'p99 ms'],
    ...all.map(([what, times]) => line(what, times)),
    line('all', [...outcomes.values()].flat()),
  ])
  if (busy > 0) console.log(`\n503 busy: ${busy}`)
}

function judgeBusy({ outcomes, busy }: Run): string[] {
  const count = [...outcomes.values()].reduce((sum, times) => sum + times.length, 0)
  return busy <= count * busyAtMost ? [] : [`${busy} of ${count} answers were 503 busy`]
}

function judgeMemory({ samples, warm, highest }: Run): string[] {
  const memory = memoryOf(samples)
  console.log()
  printTable([
    ['process', 'MiB, first third', 'second', 'last', 'open files, warm', 'at the end'],
    ...memory.map(({ pid, thirds }) => [
      String(pid),
      ...thirds.map((mib) => mib.toFixed(0)),
      String(warm.find((one) => one.pid === pid)?.files.length ?? ''),
      String(samples.at(-1)?.find((one) => one.pid === pid)?.files.length ?? ''),
    ]),
  ])
  console.log(`\nwith all garbage: ${highest.toFixed(0)} MiB at most`)
  const pids = (all: readonly Sample[] = []) => all.map(({ pid }) => pid).join()
  const same = samples.every((one) => pids(one) === pids(samples[0]))
  return [
    ...(same ? [] : ['A process ended, or another began']),
    ...(highest <= most ? [] : [`A process had ${highest.toFixed(0)} MiB; ${most} are allowed`]),
    ...grownMemory(memory, bound),
  ]
}

/** Waits until open files are closed. */
async function judgeFiles({ warm }: Run): Promise<string[]> {
  for (let waited = 0; ; waited += 500) {
    const grown = grownFiles(warm, await sample(grove.pid))
    if (grown.length === 0 || waited >= patience) return grown
    await sleep(500)
  }
}

/** The errors in the service's log. Each line is one JSON object. */
function errorsIn(log: string): string[] {
  return log.split('\n').filter((line) => /"level":[56]0/.test(line))
}

/** Measures what attacks cost the service: CPU time, memory, and the longest answer of /healthz during the attack. */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { newDataDir } from '../support/data-folder.ts'
import { newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { type Attack, attacks, patienceMs, type Target } from './attack-list.ts'
import { computingOfAll, peakMemory, resetPeakMemory, waitUntilIdle } from './processes.ts'
import { printTable, type Report } from './report.ts'

export async function benchAttacks(report: Report): Promise<void> {
  const rows = [['attack', 'answer', 'ms', 'ms of CPU time', 'more MiB at the peak', 'longest /healthz ms']]
  for (const attack of attacks) {
    const dataDir = await newDataDir()
    const grove = await spawnGrove(dataDir)
    try {
      const ann = await signUp(grove, 'Ann')
      const node = await newNode(grove, ann)
      await ann.patch(`/orgs/${ann.org}`, { published: true })
      const target = { grove, ann, node }
      await attack.prepare?.(target)
      // The service notices connections that were closed while Git ran.
      await sleep(100)
      await ann.get(node.at)
      await waitUntilIdle(grove.pid)
      rows.push([attack.what, ...(await measured(target, attack))])
    } finally {
      await grove.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  }
  report.say('\nattacks\n')
  printTable(rows)
}

async function measured(target: Target, attack: Attack): Promise<string[]> {
  const { pid, exited, url } = target.grove
  await resetPeakMemory(pid)
  const [memory, before, began] = [await peakMemory(pid), await computingOfAll(pid), performance.now()]
  let [longest, isOver] = [0, false]
  const watching = (async () => {
    while (!isOver) {
      const asked = performance.now()
      await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(patienceMs) }).then((answer) => answer.text())
      longest = Math.max(longest, performance.now() - asked)
      await sleep(5)
    }
  })().catch(() => {})
  const ended = exited.then(() => 'the process ended')
  const answer = await Promise.race([attack.work(target).catch((error: Error) => error.message), ended])
  const ms = performance.now() - began
  isOver = true
  const end = await Promise.race([ended, sleep(500)])
  if (end !== undefined) return [end, ms.toFixed(0), '', '', '']
  await watching
  const cpu = (await computingOfAll(pid)) - before
  const more = ((await peakMemory(pid)) - memory) / 2 ** 20
  return [answer, ms.toFixed(0), (cpu / 1_000).toFixed(0), more.toFixed(0), longest.toFixed(0)]
}

/**
 * Measures costs of 20,000 repositories that no request causes: a start, a crash, the background, a rebuild of the index,
 * a backup without changes.
 */

import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listRefs } from '../../gitstore/refs/refs.ts'
import { stateOf } from '../../gitstore/upkeep/state.ts'
import { listStoredRepositories } from '../../server/domain/indexing/stored-repositories.ts'
import { type MirrorEntry, writeManifest } from '../../server/domain/operator/manifest.ts'
import { grove as command } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { metricsToken, parseScrape, type Scrape, sumOf } from '../support/scrapes.ts'
import { untilReady } from '../support/spawned-grove.ts'
import { timeOf } from './measure.ts'
import { computing, threadTimes } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const orgs = 20
const nodesOfOrg = 1_000
const writers = 8
const writingMs = 3_000
const watchedSeconds = 60

interface Target {
  readonly org: string
  readonly node: string
}

export async function benchStored(report: Report): Promise<void> {
  const scene = await openScene(1, { METRICS_TOKEN: metricsToken, LOG_LEVEL: 'error' })
  const backup = await newDataDir()
  try {
    const targets: Target[] = []
    const madeMs = await timeOf(async () => {
      for (let n = 0; n < orgs; n++) targets.push(...(await fill(scene.ann, n)))
    })
    report.say(`\n${targets.length} nodes in ${orgs} organisations, made in ${(madeMs / 1_000).toFixed(0)} s\n`)

    const startMs = await timeOf(() => scene.restart())
    report.say(`start until it listens: ${startMs.toFixed(0)} ms`)
    await watch(report, scene, 'after a start')

    const written = await writeUntilKilled(scene, targets)
    const crashMs = await timeOf(() => scene.restart())
    report.say(`\n${written} commits, kill -9, start until it listens: ${crashMs.toFixed(0)} ms`)
    const sweptMs = await timeOf(() => ended(scene, 'index'))
    report.say(`until every repository has been compared with the index: ${((crashMs + sweptMs) / 1_000).toFixed(1)} s`)
    await watch(report, scene, 'after a crash')

    await scene.restart(1, () => forgetIndex(scene.dataDir))
    const readyMs = await timeOf(() => untilReady(scene.grove))
    const threads = [...(await threadTimes(scene.grove.pid)).values()].map((ns) => ns / 1e9)
    const all = threads.reduce((sum, seconds) => sum + seconds, 0)
    report.say(
      `rebuild: ready ${(readyMs / 1_000).toFixed(1)} s after it listens; CPU time ${all.toFixed(1)} s, of the busiest thread ${Math.max(...threads).toFixed(1)} s`,
    )

    await scene.restart(1, () => makeMirrors(scene.dataDir, backup))
    for (const what of ['nothing has changed', 'once more']) {
      const ms = await timeOf(async () => {
        const { code, stderr } = await command(scene.dataDir, 'backup', backup)
        if (code !== 0) throw new Error(stderr)
      })
      report.say(`grove backup, ${what}: ${(ms / 1_000).toFixed(1)} s`)
    }
  } finally {
    await scene.close()
    await rm(backup, { recursive: true, force: true })
  }
}

async function forgetIndex(root: string): Promise<void> {
  for (const name of await readdir(root)) if (name.startsWith('index.sqlite')) await rm(join(root, name))
}

/** Makes the files of a backup by copying, because Git takes 0.15 s for each mirror. */
async function makeMirrors(root: string, dir: string): Promise<void> {
  const checkedAt = new Date().toISOString()
  const repositories: MirrorEntry[] = []
  for (const { path } of await listStoredRepositories(root)) {
    const mirror = join(dir, path)
    await cp(join(root, path), mirror, { recursive: true })
    const refs = Object.fromEntries(listRefs({ dir: mirror }, 'refs/'))
    repositories.push({ path, refs, checked: { at: checkedAt, state: stateOf(mirror) } })
  }
  await writeManifest(dir, { format: 1, created_at: checkedAt, repositories, gone: [] })
}

async function fill(ann: PersonClient, n: number): Promise<Target[]> {
  const { id: org } = (await ann.post('/orgs', { name: `Organisation ${n}` }).then(expecting(201))).body
  const nodes = Array.from({ length: nodesOfOrg }, (_, at) => ({ title: `Note ${at}`, text_content: `Text ${at}.` }))
  const { body } = await ann.post(`/orgs/${org}/nodes/batch`, { nodes }).then(expecting(201))
  return body.nodes.map(({ id }: { id: string }) => ({ org, node: id }))
}

/** Measures the service's background work for a minute, and how late it answers during that time. */
async function watch(report: Report, scene: Scene, when: string): Promise<void> {
  const before = await computing(scene.grove.pid)
  const seconds: number[] = []
  let slowestMs = 0
  const until = performance.now() + watchedSeconds * 1_000
  while (performance.now() < until) {
    const at = await computing(scene.grove.pid)
    for (let n = 0; n < 40; n++) {
      slowestMs = Math.max(slowestMs, await timeOf(() => fetch(`${scene.grove.url}/healthz`).then((r) => r.text())))
      await sleep(25)
    }
    seconds.push(((await computing(scene.grove.pid)) - at) / 1e6)
  }
  const total = ((await computing(scene.grove.pid)) - before) / 1e6
  report.say(
    `${when}, ${watchedSeconds} s: ${total.toFixed(1)} s of CPU time, ${Math.max(...seconds).toFixed(2)} s in the busiest second; slowest /healthz ${slowestMs.toFixed(0)} ms`,
  )
  const jobs = (await scrape(scene)).get('grove_sweep_duration_seconds') ?? []
  report.say(`  last run of: ${jobs.map(({ labels, value }) => `${labels.chore} ${value.toFixed(2)} s`).join(', ')}`)
}

/** Returns how many commits were acknowledged before the process was killed. */
async function writeUntilKilled({ ann, grove }: Scene, targets: readonly Target[]): Promise<number> {
  let answered = 0
  let isOver = false
  const write = async (writer: number) => {
    for (let n = 0; !isOver; n++) {
      const target = targets[(writer * 1_009 + n * 31) % targets.length]
      const path = `/orgs/${target?.org}/nodes/${target?.node}`
      const text = `${writer} ${n}`
      const { status } = await ann.patch(path, { text_content: text }).catch(() => ({ status: 0 }))
      if (status === 200) answered++
    }
  }
  const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  await sleep(writingMs)
  await grove.kill()
  isOver = true
  await writing
  return answered
}

/** Waits until the job has run once since the start. */
async function ended(scene: Scene, chore: string): Promise<void> {
  while (sumOf(await scrape(scene), 'grove_sweep_last_success_timestamp_seconds', { chore }) === 0) await sleep(100)
}

async function scrape({ grove }: Scene): Promise<Scrape> {
  const answer = await fetch(`${grove.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  return parseScrape(await answer.text())
}

/**
 * Imports many notes through the domain and over REST. Compares that with Git in one repository, and with the cost of
 * one sync.
 */

import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pino } from 'pino'
import { v7 as newId } from 'uuid'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import { readConfig } from '../../server/base/config.ts'
import { personOf } from '../../server/domain/accounts/user-view.ts'
import { nodeJson } from '../../server/domain/format/node-files.ts'
import { nodeFile, textFile } from '../../server/domain/format/paths.ts'
import { type BatchNode, writeBatch } from '../../server/domain/nodes/batches.ts'
import { buildTree } from '../../server/domain/nodes/node-creation.ts'
import { openDeps } from '../../server/process/bootstrap.ts'
import { expecting } from '../support/node.ts'
import { randomFrom } from '../support/random.ts'
import { benchFolder } from './folders.ts'
import { measure, timeOf } from './measure.ts'
import { computing } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const notes = 10_000
const noteBytes = 1_024
const notesOfBatch = 1_000

export async function benchImports(report: Report): Promise<void> {
  const texts = makeTexts()
  const scene = await openScene(1)
  try {
    const sync = await syncOf(scene)
    const rest = await overRest(scene, texts)
    const domain = await throughDomain(scene, texts)
    const git = gitOf(scene, texts)
    await benchFolder(report, scene, texts)
    report.rows('a file of 1 KiB, written', 'ms', [sync])
    report.say(`\n${notes} notes of ${noteBytes} bytes:\n`)
    report.say(sentenceOf('the domain, one call', domain))
    report.say(
      `       the event loop was delayed by at most ${domain.pauseMs.toFixed(0)} ms, 99 % of turns by at most ${domain.p99Ms.toFixed(0)} ms`,
    )
    report.say(sentenceOf(`REST, batches of ${notesOfBatch}, CPU time of the service only`, rest))
    report.say(`       sent again as PUT, nothing changed: ${rest.againMs.toFixed(0)} ms`)
    report.say(sentenceOf('git init, add and commit in one repository', git))
    report.say(`       a node: ${rest.kib.toFixed(0)} KiB on the disk, ${rest.inodes.toFixed(1)} inodes`)
    const [what, unit] = ['nodes in batches', '/s']
    report.ratio({
      what: `${what}, domain`,
      unit,
      grove: domain.perSecond,
      peer: 'one sync each',
      of: 1_000 / sync.p50,
    })
    report.ratio({ what: `${what}, REST`, unit, grove: rest.perSecond, peer: 'git, one repository', of: git.perSecond })
  } finally {
    await scene.close()
  }
}

interface Speed {
  readonly perSecond: number
  /** Milliseconds of CPU time per note. */
  readonly ms: number
}

function sentenceOf(what: string, { perSecond, ms }: Speed): string {
  return `${perSecond.toFixed(0).padStart(6)} a second, ${ms.toFixed(2)} ms of CPU time each: ${what}`
}

function makeTexts(): string[] {
  const random = randomFrom(11)
  const words = Array.from({ length: 3_000 }, (_, n) => `w${n.toString(36)}${'aeiou'[n % 5]}`)
  return Array.from({ length: notes }, () => {
    let text = ''
    while (text.length < noteBytes) text += `${words[Math.floor(random() * words.length)]} `
    return text.slice(0, noteBytes)
  })
}

async function syncOf({ dataDir }: Scene) {
  const folder = join(dataDir, 'tmp-bench')
  mkdirSync(folder)
  let n = 0
  const row = await measure('write, fsync', 200, async () => {
    const file = openSync(join(folder, String(n++)), 'wx')
    writeFileSync(file, 'x'.repeat(noteBytes))
    fsyncSync(file)
    closeSync(file)
  })
  rmSync(folder, { recursive: true })
  return row
}

async function overRest({ grove, ann, dataDir }: Scene, texts: readonly string[]) {
  const nodes = texts.map((text_content, at) => ({ id: newId(), title: `Note ${at}`, text_content }))
  const batches = Array.from({ length: notes / notesOfBatch }, (_, n) =>
    nodes.slice(n * notesOfBatch, (n + 1) * notesOfBatch),
  )
  const before = await computing(grove.pid)
  const ms = await timeOf(async () => {
    for (const nodes of batches) await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
  })
  const computed = (await computing(grove.pid)) - before
  const againMs = await timeOf(async () => {
    for (const nodes of batches) await ann.put(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(200))
  })
  const size = sizeOf(join(dataDir, ann.org))
  return {
    perSecond: (notes * 1_000) / ms,
    ms: computed / 1_000 / notes,
    againMs,
    kib: size.kib / notes,
    inodes: size.inodes / notes,
  }
}

function sizeOf(folder: string): { kib: number; inodes: number } {
  const sum = { kib: 0, inodes: 0 }
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const stat = lstatSync(path)
    const below = stat.isDirectory() ? sizeOf(path) : { kib: 0, inodes: 0 }
    sum.kib += (stat.blocks * 512) / 1_024 + below.kib
    sum.inodes += 1 + below.inodes
  }
  return sum
}

/** Imports in this process, while the service is idle. */
async function throughDomain({ dataDir, ann }: Scene, texts: readonly string[]) {
  const org = (await ann.post('/orgs', { name: 'Imported' }).then(expecting(201))).body.id
  const { deps, close } = await openDeps(readConfig({ DATA_DIR: dataDir }), { log: pino({ level: 'silent' }) })
  try {
    const account = await findAccountByEmail(deps.credentials.read, ann.user.email)
    if (!account) throw new Error('Ann has no account')
    const nodes = texts.map((text, at) => {
      const title = `Note ${at}`
      const files = new Map([
        [nodeFile, nodeJson({ title, properties: { source_path: `${at}.md` } })],
        [textFile, Buffer.from(text)],
      ])
      const build: BatchNode['build'] = (draft, before) => buildTree(draft, before, files)
      return { id: newId(), title, message: 'Import', build }
    })
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const before = process.cpuUsage()
    const ms = await timeOf(() =>
      writeBatch({ ...deps, actor: personOf(account) }, { org_id: org }, nodes, {
        existing: 'refuse',
        locate: (at) => [at],
      }),
    )
    const { user, system } = process.cpuUsage(before)
    delay.disable()
    return {
      perSecond: (notes * 1_000) / ms,
      ms: (user + system) / 1_000 / notes,
      pauseMs: delay.max / 1e6,
      p99Ms: delay.percentile(99) / 1e6,
    }
  } finally {
    await close()
  }
}

/** Imports with Git. Bash reports the CPU time of itself and its child processes. */
function gitOf({ dataDir }: Scene, texts: readonly string[]): Speed {
  const folder = join(dataDir, 'tmp-git')
  mkdirSync(folder)
  for (const [at, text] of texts.entries()) writeFileSync(join(folder, `${at}.md`), text)
  const identity = '-c user.name=Ann -c user.email=ann@example.org -c gc.auto=0'
  const script = `cd ${folder}; TIMEFORMAT='%R %U %S'; time (git init -q; git add -A; git ${identity} commit -qm Notes) 2>&1`
  const said = execFileSync('bash', ['-c', `{ ${script}; } 2>&1`], { encoding: 'utf8' })
  const [real = 0, user = 0, system = 0] = said.trim().split(' ').map(Number)
  rmSync(folder, { recursive: true })
  return { perSecond: notes / real, ms: ((user + system) * 1_000) / notes }
}

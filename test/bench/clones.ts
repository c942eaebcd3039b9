/**
 * Measures clones over HTTP, and those of git-http-backend under nginx and fcgiwrap over the same repositories. Also
 * measures REST during 50 clones.
 */

import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { interleave, rowOf, timeOf } from './measure.ts'
import type { Peers } from './peers.ts'
import { nodeProcesses, residentMemory } from './processes.ts'
import type { Report } from './report.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

const run = promisify(execFile)

/** The number of files of 1 MiB. Their content cannot be compressed. */
const largeFiles = 100
const mediumFiles = 5
/** Bytes of a file that is pushed on its own. */
const fileBytes = 64 * 2 ** 20
const atOnce = 50

export async function benchClones(report: Report, peers: Peers): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  const scene = await openScene()
  try {
    const large = await filled(scene, folder, largeFiles)
    const medium = await filled(scene, folder, mediumFiles)
    const small = await scene.node({ text_content: 'Small.\n' })
    await beside(report, peers, scene, folder, 'a small one', small, 30)
    await beside(report, peers, scene, folder, `one of ${largeFiles} MiB`, large, 7)
    await oneFile(report, scene, folder)
    await manyAtOnce(report, scene, folder, medium, large)
  } finally {
    await scene.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Creates a node whose main has that many files, in one pack. */
async function filled(scene: Scene, folder: string, files: number): Promise<BenchNode> {
  const node = await scene.node({ initialize: false })
  const source = join(folder, `source-${files}`)
  await commitFiles(source, files, 2 ** 20)
  execFileSync('git', ['-C', source, 'push', '-q', node.repo, 'main'], { stdio: 'pipe' })
  await rm(source, { recursive: true, force: true })
  return node
}

/** Makes a repository with one commit of files that cannot be compressed. */
async function commitFiles(source: string, files: number, bytes: number): Promise<void> {
  const git = (...args: string[]) => execFileSync('git', ['-C', source, ...args], { stdio: 'pipe' })
  execFileSync('git', ['init', '-q', '-b', 'main', source])
  for (let n = 0; n < files; n++) await writeFile(join(source, `file-${n}`), randomBytes(bytes))
  git('add', '-A')
  git('-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', 'commit', '-q', '-m', 'Files')
}

function authorized(token: string): string {
  return `http.extraHeader=Authorization: Bearer ${token}`
}

let clones = 0

/** Makes a bare clone and removes it. Runs with low priority, so that it takes no CPU time from the service. */
async function clone(folder: string, url: string, token: string): Promise<void> {
  const to = join(folder, `clone-${++clones}`)
  await run('nice', ['-n', '19', 'git', '-c', authorized(token), 'clone', '-q', '--bare', url, to])
  await rm(to, { recursive: true, force: true })
}

/**
 * Measures a push and a clone of one large file. Git would leave so few objects loose. It would compress the file on
 * arrival, and again for each clone.
 */
async function oneFile(report: Report, scene: Scene, folder: string): Promise<void> {
  const token = scene.ann.session.accessToken
  const source = join(folder, 'file')
  const pushed: number[] = []
  const cloned: number[] = []
  for (let n = 0; n < 5; n++) {
    const url = addressOf(scene, await scene.node({ initialize: false }))
    await commitFiles(source, 1, fileBytes)
    pushed.push(await timeOf(() => run('git', ['-C', source, '-c', authorized(token), 'push', '-q', url, 'main'])))
    cloned.push(await timeOf(() => clone(folder, url, token)))
    await rm(source, { recursive: true, force: true })
  }
  report.rows(`one file of ${fileBytes / 2 ** 20} MiB over HTTP`, 'ms', [
    rowOf('a push', pushed),
    rowOf('a clone', cloned),
  ])
}

function addressOf(scene: Scene, { at }: BenchNode): string {
  return `${scene.grove.url}/git/${at.replace('/orgs/', '').replace('/nodes/', '/')}.git`
}

async function beside(
  report: Report,
  peers: Peers,
  scene: Scene,
  folder: string,
  what: string,
  node: BenchNode,
  times: number,
): Promise<void> {
  const token = scene.ann.session.accessToken
  const name = `${node.at.split('/').at(-1)}.git`
  if (peers.backend !== undefined) await peers.share(name, node.repo)
  const before = await memoryOf(scene)
  const rows = await interleave(times, [
    ['Grove', () => clone(folder, addressOf(scene, node), token)],
    ...(peers.backend === undefined
      ? []
      : [['git-http-backend', () => clone(folder, `${peers.backend}/${name}`, token)] as const]),
  ])
  const grown = (await memoryOf(scene)) - before
  report.rows(`a clone of ${what}`, 'ms', rows)
  report.say(`\nThe service has ${(grown / 2 ** 20).toFixed(0)} MiB more after ${times} clones.`)
  report.ratio({
    what: `clone of ${what}`,
    unit: 'ms',
    grove: rows[0]?.p50,
    peer: 'git-http-backend under nginx and fcgiwrap',
    of: rows[1]?.p50,
    wanted: { atMost: 1.1 },
  })
}

async function manyAtOnce(
  report: Report,
  scene: Scene,
  folder: string,
  medium: BenchNode,
  large: BenchNode,
): Promise<void> {
  const token = scene.ann.session.accessToken
  const connection = scene.connect()
  const asked: number[][] = []
  for (const node of [undefined, medium, large]) {
    let cloning = true
    const times: number[] = []
    const done =
      node === undefined
        ? new Promise((resolve) => setTimeout(resolve, 3_000))
        : Promise.all(Array.from({ length: atOnce }, () => clone(folder, addressOf(scene, node), token)))
    void done.finally(() => {
      cloning = false
    })
    while (cloning) {
      times.push(await timeOf(() => connection.get(medium.at)))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await done
    asked.push(times)
  }
  connection.close()
  const [alone = [], beside = [], besideLarge = []] = asked
  report.rows('reading a node over REST', 'ms', [
    rowOf('alone', alone),
    rowOf(`during ${atOnce} clones at once of ${mediumFiles} MiB`, beside),
    rowOf(`during ${atOnce} clones at once of ${largeFiles} MiB`, besideLarge),
  ])
  for (const [size, times] of [
    [mediumFiles, beside],
    [largeFiles, besideLarge],
  ] as const)
    report.ratio({
      what: `p99 of REST during ${atOnce} clones of ${size} MiB`,
      unit: 'ms',
      grove: rowOf('', times).p99,
      peer: 'the limit',
      of: 100,
      wanted: { atMost: 1 },
    })
}

async function memoryOf(scene: Scene): Promise<number> {
  const processes = await nodeProcesses(scene.grove.pid)
  return (await Promise.all(processes.map(residentMemory))).reduce((sum, one) => sum + one, 0)
}

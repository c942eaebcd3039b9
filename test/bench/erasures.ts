/** Erases comments from a long ledger, next to what Git takes to copy, repack and rewrite the same history. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { entryFile } from '../../server/domain/format/paths.ts'
import { expecting } from '../support/node.ts'
import { git, rowOf } from './measure.ts'
import type { Report } from './report.ts'
import { fastImport } from './repositories.ts'
import { commentsOn, type ImportedEntry, makeTalkers, openForks } from './review-data.ts'
import { openScene } from './scene.ts'

const commits = 10_000
/** Each erases another entry. */
const rounds = 3

/** Erases the first comments of a ledger, so that nearly all of its commits are rewritten. */
export async function benchErasures(report: Report): Promise<void> {
  const scene = await openScene(1)
  const folder = await mkdtemp(join(tmpdir(), 'grove-erasures-'))
  try {
    const node = await scene.node()
    const [heads] = await openForks(scene, node, 1)
    if (!heads) throw new Error('There is no proposal')
    await importEach(node.repo, commentsOn(heads, makeTalkers(30), { number: 1, count: commits }))
    const { body } = await scene.ann
      .get(`${node.at}/pull-requests/1/timeline?after=${commits - 1}`)
      .then(expecting(200))
    if (body.entries.at(-1)?.entry !== commits) throw new Error('The entries are not indexed')
    const peer = join(folder, 'peer.git')
    await git(folder, 'clone', '-q', '--mirror', '--no-local', node.repo, peer)
    const erase = (entry: number) => [
      process.execPath,
      'dist/cli.js',
      'erase',
      '--node',
      node.id,
      '--entry',
      `1/${entry}`,
    ]
    const measured = new Map<string, Spent[]>()
    for (let entry = 1; entry <= rounds; entry++) {
      const copies = [join(folder, `clone-${entry}.git`), join(folder, `new-${entry}.git`)] as const
      await git(folder, 'init', '-q', '--bare', copies[1])
      const works = {
        [erased]: [...erase(entry)],
        [repeated]: [...erase(entry)],
        [cloned]: ['git', 'clone', '-q', '--mirror', '--no-local', peer, copies[0]],
        [repacked]: ['git', '-C', peer, 'repack', '-adfq'],
        [filtered]: ['sh', '-c', exportToImport, 'sh', peer, copies[1]],
      }
      for (const [what, words] of Object.entries(works)) {
        const spent = await timed(words, { DATA_DIR: scene.dataDir })
        if (what === erased) requireAlmostAll(spent.stdout)
        measured.set(what, [...(measured.get(what) ?? []), spent])
      }
    }
    show(report, measured)
  } finally {
    await scene.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const erased = 'grove erase --entry'
const repeated = 'the same again, with nothing to rewrite'
const cloned = 'git clone --mirror'
const repacked = 'git repack -adf'
const filtered = 'git fast-export, git fast-import'

/** Rewrites the ledger as filters of histories do. */
const exportToImport = 'git -C "$1" fast-export refs/grove/ledger | git -C "$2" fast-import --quiet'

function show(report: Report, measured: ReadonlyMap<string, readonly Spent[]>): void {
  const rowsOf = (of: (spent: Spent) => number) => [...measured].map(([what, all]) => rowOf(what, all.map(of)))
  const title = `an erasure from a ledger of ${commits.toLocaleString('en')} commits`
  report.rows(
    title,
    'ms',
    rowsOf(({ elapsedMs }) => elapsedMs),
  )
  const computed = rowsOf(({ cpuMs }) => cpuMs)
  report.rows(`${title}, CPU time with Git processes`, 'ms', computed)
  const cpuOf = (name: string) => computed.find(({ what }) => what === name)?.p50
  for (const peer of [filtered, cloned, repacked, repeated])
    report.ratio({ what: `${title}, CPU time`, unit: 'ms', grove: cpuOf(erased), peer, of: cpuOf(peer) })
}

interface Spent {
  readonly elapsedMs: number
  /** CPU time of the program and of the processes that it waited for. */
  readonly cpuMs: number
  readonly stdout: string
}

/** Runs a program to its end. @throws Error with its output */
async function timed(words: readonly string[], env: Record<string, string>): Promise<Spent> {
  const started = performance.now()
  const script = 'TIMEFORMAT="%3U %3S"; time "$@"'
  const options = { env: { ...process.env, LC_ALL: 'C', ...env }, maxBuffer: 1e8 }
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script, 'bash', ...words], options)
  const elapsedMs = performance.now() - started
  const [user = 0, system = 0] = (stderr.trimEnd().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { elapsedMs, cpuMs: (user + system) * 1_000, stdout }
}

/** @throws Error if the erasure was not of one of the first entries */
function requireAlmostAll(stdout: string): void {
  const rewritten = Number(/: ([\d,]+) commits rewritten/.exec(stdout)?.[1]?.replaceAll(',', ''))
  if (!(rewritten > commits - 20)) throw new Error(`It rewrote too few commits: ${stdout}`)
}

/** Adds each entry in a commit of its own. */
async function importEach(repo: string, entries: readonly ImportedEntry[]): Promise<void> {
  await fastImport(repo, async (write) => {
    for (const [n, { number, entry, record }] of entries.entries()) {
      const json = `${JSON.stringify(record, null, 2)}\n`
      const message = `comment ${number} ${entry}`
      const from = n === 0 ? 'from refs/grove/ledger^0\n' : ''
      await write(
        `commit refs/grove/ledger\ncommitter Ann <ann@example.org> ${1_767_225_600 + n} +0000\ndata ${message.length}\n${message}\n${from}M 100644 inline ${entryFile(number, entry)}\ndata ${Buffer.byteLength(json)}\n${json}\n`,
      )
    }
  })
}

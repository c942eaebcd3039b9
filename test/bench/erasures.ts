/** Erases comments from a long ledger, next to what Git takes to copy, repack and rewrite the same history. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { entryFile } from '../../server/domain/format/paths.ts'
import { runGroveCommand } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { git, interleave, turns } from './measure.ts'
import type { Report } from './report.ts'
import { fastImport } from './repositories.ts'
import { commentsOn, type ImportedEntry, makeTalkers, openForks } from './review-data.ts'
import { openScene } from './scene.ts'

const commits = 10_000
/** One round more runs unmeasured. Each erases other entries. */
const rounds = 3

const run = promisify(execFile)

/** Erases the first comments of a ledger, so that nearly all of its commits are rewritten. */
export async function benchErasures(report: Report): Promise<void> {
  const scene = await openScene(1)
  const folder = await mkdtemp(join(tmpdir(), 'grove-erasures-'))
  try {
    const node = await scene.node()
    const [heads] = await openForks(scene, node, 1)
    if (!heads) throw new Error('There is no proposal')
    await importEach(node.repo, commentsOn(heads, makeTalkers(30), { number: 1, count: commits }))
    const pull = `${node.at}/pull-requests/1`
    const { body } = await scene.ann.get(`${pull}/timeline?after=${commits - 1}`).then(expecting(200))
    if (body.entries.at(-1)?.entry !== commits) throw new Error('The entries are not indexed')
    const peer = join(folder, 'peer.git')
    await git(folder, 'clone', '-q', '--mirror', '--no-local', node.repo, peer)
    const nextEntry = turns(Array.from({ length: 2 * (rounds + 1) }, (_, n) => n + 1))
    const rows = await interleave(rounds, [
      ['POST …/entries/{entry}/erase', () => eraseOverRest(nextEntry())],
      ['grove erase --entry', () => eraseByCommand(nextEntry())],
      ['git clone --mirror', () => inNewFolder((to) => git(folder, 'clone', '-q', '--mirror', '--no-local', peer, to))],
      ['git repack -adf', () => git(peer, 'repack', '-adfq')],
      ['git fast-export, git fast-import', () => inNewFolder((to) => exportTo(peer, to))],
    ])
    report.rows(`an erasure from a ledger of ${commits.toLocaleString('en')} commits`, 'ms', rows)
    const [rest, command, clone, repack, rewritten] = rows.map(({ p50 }) => p50)
    const ms = { unit: 'ms' } as const
    report.ratio({
      ...ms,
      what: 'an erasure over REST',
      grove: rest,
      peer: 'git fast-export and fast-import',
      of: rewritten,
    })
    report.ratio({ ...ms, what: 'an erasure over REST', grove: rest, peer: 'git clone --mirror', of: clone })
    report.ratio({ ...ms, what: 'an erasure over REST', grove: rest, peer: 'git repack -adf', of: repack })
    report.ratio({ ...ms, what: 'grove erase --entry', grove: command, peer: 'an erasure over REST', of: rest })

    async function eraseOverRest(entry: number): Promise<void> {
      const answer = await scene.ann.post(`${pull}/entries/${entry}/erase`, {}).then(expecting(200))
      requireAlmostAll(answer.body.commits_rewritten)
    }

    async function eraseByCommand(entry: number): Promise<void> {
      const words = ['erase', '--node', node.id, '--entry', `1/${entry}`]
      const { code, stdout } = await runGroveCommand(scene.dataDir, words)
      if (code !== 0) throw new Error(stdout)
      requireAlmostAll(Number(/: (\d+) commits rewritten/.exec(stdout)?.[1]))
    }

    async function inNewFolder(work: (to: string) => Promise<unknown>): Promise<void> {
      const to = await mkdtemp(join(folder, 'copy-'))
      await work(to)
      await rm(to, { recursive: true })
    }
  } finally {
    await scene.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws Error if the erasure was not of one of the first entries */
function requireAlmostAll(rewritten: number): void {
  if (!(rewritten > commits - 20)) throw new Error(`${rewritten} commits were rewritten`)
}

/** Rewrites the ledger as filters of histories do. */
async function exportTo(from: string, to: string): Promise<void> {
  await run('git', ['init', '-q', '--bare', to])
  const piped = 'git -C "$1" fast-export --signed-tags=strip refs/grove/ledger | git -C "$2" fast-import --quiet'
  await run('sh', ['-c', piped, 'sh', from, to])
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

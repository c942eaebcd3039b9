/**
 * Measures a clone and a push of 100 MiB at the cell that has the repository, and through another cell. Also watches
 * the memory of the other cell.
 */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchCell, CellScene } from './cells-scene.ts'
import { git, interleave } from './measure.ts'
import { peakMemory, resetPeakMemory } from './processes.ts'
import type { Report, Row } from './report.ts'
import type { BenchNode } from './scene.ts'

const run = promisify(execFile)

/** The number of files of 1 MiB. Their content cannot be compressed. */
const files = 100
const times = 5

export async function benchTransfers(report: Report, scene: CellScene): Promise<void> {
  const [here, there] = scene.cells
  if (here === undefined || there === undefined) throw new Error('There are no two cells')
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-'))
  try {
    const source = await newSource(folder)
    const org = await scene.org(here)
    const node = await scene.node(here, org, { initialize: false })
    await git(source, 'push', '-q', node.repo, 'main')
    let turn = 0
    const clone = async (cell: BenchCell) => {
      const to = join(folder, `clone-${turn++}`)
      await asClient(['clone', '-q', '--bare', addressOf(cell, scene, node), to])
      await rm(to, { recursive: true, force: true })
    }
    const push = async (cell: BenchCell) => {
      const empty = await scene.node(here, org, { initialize: false })
      await asClient(['-C', source, 'push', '-q', addressOf(cell, scene, empty), 'main'])
      await rm(empty.repo, { recursive: true, force: true })
    }
    for (const [what, transfer] of [
      ['clone', clone],
      ['push', push],
    ] as const) {
      await transfer(there)
      await resetPeakMemory(there.grove.pid)
      const before = await peakMemory(there.grove.pid)
      const rows = await interleave(times, [
        ['at the cell that has it', () => transfer(here)],
        ['through another cell', () => transfer(there)],
      ])
      tell(report, `${what} of ${files} MiB`, rows, (await peakMemory(there.grove.pid)) - before)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function tell(report: Report, what: string, rows: readonly Row[], grown: number): void {
  const [direct, hop] = rows
  report.rows(`a ${what}`, 'ms', rows)
  report.say(
    `\nThe passing cell had ${(grown / 2 ** 20).toFixed(0)} MiB more at its peak than after the first ${what}.`,
  )
  report.ratio({
    what: `${what}, through another cell`,
    unit: 'ms',
    grove: hop?.p50,
    peer: 'its own cell',
    of: direct?.p50,
  })
}

async function newSource(folder: string): Promise<string> {
  const source = join(folder, 'source')
  await run('git', ['init', '-q', '-b', 'main', source])
  for (let n = 0; n < files; n++) await writeFile(join(source, `file-${n}`), randomBytes(2 ** 20))
  // The client's own time must not count.
  await git(source, 'config', 'core.compression', '0')
  await git(source, 'config', 'core.bigFileThreshold', '512k')
  await git(source, 'add', '-A')
  await git(source, '-c', 'user.name=Bench', '-c', 'user.email=bench@example.org', 'commit', '-q', '-m', 'Files')
  return source
}

/** Runs Git with low priority, so that it takes no CPU time from the service, like a client elsewhere. */
async function asClient(args: readonly string[]): Promise<void> {
  await run('nice', ['-n', '19', 'git', ...args])
}

function addressOf({ grove }: BenchCell, { token }: CellScene, { at }: BenchNode): string {
  const url = grove.url.replace('://', `://ann:${token}@`)
  return `${url}/git/${at.replace('/orgs/', '').replace('/nodes/', '/')}.git`
}

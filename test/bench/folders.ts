/** Measures a folder of many notes by the command line. Imports it twice and backs it up twice. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from './report.ts'
import type { Scene } from './scene.ts'

const notesOfFolder = 100

/** Reports seconds, including the start of each command. */
export async function benchFolder(report: Report, { dataDir, ann }: Scene, texts: readonly string[]): Promise<void> {
  const outer = join(tmpdir(), `grove-bench-${process.pid}`)
  const folder = join(outer, 'notes')
  for (const [at, text] of texts.entries()) {
    const dir = join(folder, String(Math.floor(at / notesOfFolder)))
    if (at % notesOfFolder === 0) mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, `${at}.md`), text)
  }
  // An import remembers a folder only if no file has just changed: server/features/vault/read/folder-state.ts.
  await sleep(3_000)
  try {
    const run = (...args: string[]): number => {
      const began = performance.now()
      const env = { ...process.env, DATA_DIR: dataDir }
      const { status, stderr } = spawnSync(process.execPath, ['dist/cli.js', ...args], { env, encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      return (performance.now() - began) / 1_000
    }
    const inFolder = ['import', folder, '--as', ann.user.email]
    const [first, again] = [run(...inFolder), run(...inFolder)]
    writeFileSync(join(folder, '0', '0.md'), 'Changed.')
    const changed = run(...inFolder)
    const [copied, still] = [run('backup', join(outer, 'backup')), run('backup', join(outer, 'backup'))]
    const seconds = (number: number) => `${number.toFixed(1)} s`
    report.say(
      `grove import of a folder with these notes: ${seconds(first)}; again, nothing changed: ${seconds(again)}; one changed: ${seconds(changed)}`,
    )
    report.say(`grove backup of all repositories: ${seconds(copied)}; again, nothing changed: ${seconds(still)}`)
  } finally {
    rmSync(outer, { recursive: true, force: true })
  }
}

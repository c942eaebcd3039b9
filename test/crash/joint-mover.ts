/**
 * Moves 41 refs of 21 repositories in one transaction, as a merge of 20 pages together does. As a program,
 * `joint-mover.ts FOLDER COMMIT`, it says when it is ready, and begins when its input says so.
 */

import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RefName, updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import type { Store } from '../../gitstore/store.ts'
import { claimDeadProcess, registerProcess } from '../../index/sqlite/file-lock.ts'

const pages = Array.from({ length: 20 }, (_, at) => `page-${at}`)

/** The refs in the order of their moves: each main, each ledger, and the one of the organisation. */
export function jointRefs(root: string): RefName[] {
  const repos = [...pages, 'org'].map((name) => ({ dir: join(root, 'org', `${name}.git`) }))
  const refsOf = (ref: string) => repos.slice(0, pages.length).map((repo) => ({ repo, ref }))
  const last = repos.slice(pages.length).map((repo) => ({ repo, ref: 'refs/grove/sets' }))
  return [...refsOf('refs/heads/main'), ...refsOf('refs/grove/ledger'), ...last]
}

/** The folder, for this process. It has no index. */
export async function openJointStore(root: string): Promise<Store> {
  const run = join(root, 'run')
  const { id } = await registerProcess(run)
  return {
    root,
    run,
    process: id,
    claimDeadProcess: (process) => claimDeadProcess(run, process),
    onRecovered: async () => undefined,
    indexRepo: async () => undefined,
    onReadOnly: () => undefined,
  }
}

async function runProgram([root = '', to = '']: readonly string[]): Promise<void> {
  const store = await openJointStore(root)
  // Ends with the process that started it.
  process.stdin.once('end', () => process.exit())
  const begins = once(process.stdin, 'data')
  process.stdout.write('ready\n')
  await begins
  const moves = jointRefs(root).map((name) => ({ ...name, to }))
  await updateRefs(store, moves, async () => ({ moves, value: undefined }))
  process.exit()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void runProgram(process.argv.slice(2))

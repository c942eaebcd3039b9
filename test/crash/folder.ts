/** Judges the disk after a storm by Git, SQLite, file names and a rebuilt index. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { readLock } from '../../gitstore/refs/ref-lock.ts'
import { type Store, withRefLock } from '../../gitstore/refs/ref-transaction.ts'
import { isTemporary } from '../../gitstore/temporary-names.ts'
import { findDatabaseDamage } from '../../index/sqlite/backup.ts'
import { claimDeadProcess, registerProcess } from '../../index/sqlite/file-lock.ts'
import { workingIn } from '../bench/processes.ts'
import { runGroveCommand } from '../support/command.ts'
import { expectSound, filesBelow, locksIn, repositoriesIn, transactionsIn } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { untilReady } from '../support/spawned-grove.ts'
import { settled } from './problems.ts'
import type { World } from './world.ts'

/** After every restart: no lock, nothing of dead processes beside the `living`, all databases whole. */
export async function judgeLeftovers(world: World, living: number): Promise<void> {
  const { dataDir, problems } = world
  await settled(world, 'locks are left', () => locksIn(dataDir))
  await settled(world, 'transactions are left', () => transactionsIn(dataDir))
  await settled(world, 'folders of dead processes are left', async () => {
    const entries = await readdir(join(dataDir, 'run'), { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    return folders.length > living ? folders : []
  })
  await settled(world, 'git goes on without a client', async () => (await workingIn(dataDir)).map(String))
  for (const name of ['credentials.sqlite', 'index.sqlite', 'events.sqlite']) {
    if (!existsSync(join(dataDir, name))) continue
    const damage = findDatabaseDamage(join(dataDir, name))
    if (damage !== undefined) problems.push(`${name}: ${damage}`)
  }
}

/**
 * Recovery of refs with locks that a power cut has left. A machine that starts again finds an empty lock, or one of
 * zeros, older than its start; this machine has not started again, so the test makes the locks older.
 */
export async function meetLocks({ dataDir, problems }: World): Promise<void> {
  const run = join(dataDir, 'run')
  const alive = await registerProcess(run)
  const store: Store = {
    root: dataDir,
    run,
    process: alive.id,
    claimDeadProcess: (id) => claimDeadProcess(run, id),
    onRecovered: async () => {},
    indexRepo: async () => {},
    onReadOnly: () => {},
  }
  for (const lock of await locksIn(dataDir)) {
    const text = readLock(lock)
    if (text === '' || text?.includes('\0')) await utimes(lock, 0, 0)
    const [, dir = '', ref = ''] = /^(.*?\.git)\/(.*)\.lock$/.exec(lock) ?? []
    await withRefLock(store, { repo: { dir }, ref }, '', async () => {}).catch((error: unknown) =>
      problems.push(`${lock} keeps others waiting: ${error}; it has ${JSON.stringify(text)}; this is ${alive.id}`),
    )
  }
  alive.close()
  await rm(alive.dir, { recursive: true, force: true })
}

/** Git's own check of every repository, and no empty ref or object. Marks beside a pack and temporary files may be empty. */
export async function judgeRepositories({ dataDir, problems }: World): Promise<void> {
  await expectSound(dataDir).catch((error: unknown) => problems.push(`A repository is not sound: ${error}`))
  for (const repo of await repositoriesIn(dataDir)) {
    const isPassing = (path: string) =>
      path.endsWith('.keep') ||
      relative(repo, path)
        .split('/')
        .some((name) => isTemporary(name, false))
    const objects = (await filesBelow(join(repo, 'objects'))).filter((path) => !isPassing(path))
    const sizes = await Promise.all(objects.map(async (path) => (await stat(path).catch(() => ({ size: 1 }))).size))
    for (const [at, path] of objects.entries()) if (sizes[at] === 0) problems.push(`${path} is empty`)
  }
}

/** `grove doctor` finds nothing, and isomorphic-git reads of every repository what the service reads. */
export async function judgeSecondReader({ dataDir, environment, problems }: World): Promise<void> {
  const { code, stdout, stderr } = await runGroveCommand(dataDir, ['doctor', '--second-reader'], environment)
  if (code !== 0) problems.push(`grove doctor --second-reader ended with ${code}: ${stdout}${stderr}`)
  console.log(/^isomorphic-git: .*$/m.exec(stdout)?.[0] ?? 'isomorphic-git has read nothing')
}

const queries = ['whales sing', 'node']

/**
 * Every answer, from an index made anew beside the service and from one made by the next start, is the one given before.
 * `again` starts the service on the folder, whose processes have been stopped by `stop`.
 */
export async function judgeRebuild(
  world: World,
  token: string,
  doors: readonly { readonly url: string }[],
  stop: () => Promise<void>,
  again: () => Promise<{ readonly url: string }>,
): Promise<void> {
  const { dataDir, org } = world
  const everything = (door: { readonly url: string }) => everythingIn(door, token, [org], queries)
  const compare = (what: string, before: Record<string, string>, after: Record<string, string>) => {
    const different = Object.keys({ ...before, ...after }).filter((request) => before[request] !== after[request])
    for (const request of different.slice(0, 5))
      world.problems.push(`${what}: ${request}\n  ${before[request]}\n  ${after[request]}`)
  }
  const [first, second = first] = doors
  if (!first || !second) throw new Error('No process lives')
  const before = await everything(first)
  const env = { ...process.env, ...world.environment, DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  await promisify(execFile)(process.execPath, ['dist/cli.js', 'reindex'], { env })
  compare('The other process, after grove reindex', before, await everything(second))
  await stop()
  for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
  const fresh = await again()
  // On a slow machine the service listens before its index is made, and answers 503 until then.
  await untilReady(fresh)
  compare('From an index made by the start', before, await everything(fresh))
}

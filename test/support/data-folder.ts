/** Inspects a data folder with native Git and the file system. */

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { environment, fsckWords } from './git.ts'
import { until } from './until.ts'

const run = promisify(execFile)

export function newDataDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'grove-test-'))
}

/**
 * Runs Git in the bare repository, while other work continues. Returns its output without the final line break.
 *
 * @throws Error with Git's own words
 */
export async function git(repo: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { env: environment(repo), maxBuffer: 64 * 1024 * 1024 })
  return stdout.trimEnd()
}

/** Returns true if Git succeeded. Another process may hold the lock, or have moved the ref. */
export async function gitDid(repo: string, ...args: string[]): Promise<boolean> {
  return git(repo, ...args).then(
    () => true,
    () => false,
  )
}

/** Returns the lines of Git's output. Empty for no output. */
export async function gitLines(repo: string, ...args: string[]): Promise<string[]> {
  const text = await git(repo, ...args)
  return text === '' ? [] : text.split('\n')
}

/** Lists every repository that is served: those of nodes and those of organisations. */
export async function repositoriesIn(dataDir: string): Promise<string[]> {
  const orgs = (await readdir(dataDir)).filter((name) => /^[0-9a-f-]{36}$/.test(name))
  const found = await Promise.all(
    orgs.map(async (org) => (await readdir(join(dataDir, org))).map((name) => join(dataDir, org, name))),
  )
  return found.flat().filter((path) => /\/[\w-]+\.git$/.test(path) && !path.includes('/tmp-'))
}

/** Checks that Git finds no fault in any repository. Also checks that no lock, empty ref or transaction is left. */
export async function expectSound(dataDir: string): Promise<void> {
  for (const repo of await repositoriesIn(dataDir)) {
    expect(await git(repo, ...fsckWords(repo)), repo).to.equal('')
    expect(await emptyRefs(repo)).to.deep.equal([])
  }
  await expectSettled(dataDir)
}

/** Checks that no lock or transaction is left. This is the part of `expectSound` that needs no process. */
export async function expectSettled(dataDir: string): Promise<void> {
  await expectNone(() => locksIn(dataDir))
  await expectNone(() => transactionsIn(dataDir))
}

/** Waits, because the sweep may be at work, and folders are removed after the answer. */
async function expectNone(look: () => Promise<string[]>): Promise<void> {
  await until(async () => (await look()).length === 0)
}

export async function locksIn(dataDir: string): Promise<string[]> {
  const files = await Promise.all((await repositoriesIn(dataDir)).map(filesBelow))
  return files.flat().filter((path) => path.endsWith('.lock'))
}

/** Lists the folders of ref transactions, of live and dead processes. */
export async function transactionsIn(dataDir: string): Promise<string[]> {
  const processes = await readdir(join(dataDir, 'run'))
  const found = await Promise.all(
    processes.map(async (process) => (await list(join(dataDir, 'run', process))).map((name) => `${process}/${name}`)),
  )
  return found.flat().filter((path) => !/\/(alive(-journal)?|version|lease)$/.test(path))
}

async function emptyRefs(repo: string): Promise<string[]> {
  const refs = (await filesBelow(join(repo, 'refs'))).filter((path) => !path.endsWith('.lock'))
  const texts = await Promise.all(refs.map(async (path) => readFile(path, 'utf8').catch(() => 'it was packed')))
  return refs.filter((_, at) => texts[at] === '')
}

export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(
    entries.map((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)])),
  )
  return found.flat()
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

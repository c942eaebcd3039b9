/** A data folder as native git and the file system see it. */

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

/** What git prints about the bare repository, without the line break at its end, while others get on. @throws Error with git's own words */
export async function git(repo: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { env: environment(repo), maxBuffer: 64 * 1024 * 1024 })
  return stdout.trimEnd()
}

/** Whether git did it: another may hold the lock, or have moved the ref. */
export async function gitDid(repo: string, ...args: string[]): Promise<boolean> {
  return git(repo, ...args).then(
    () => true,
    () => false,
  )
}

/** The lines that git prints; none for nothing. */
export async function gitLines(repo: string, ...args: string[]): Promise<string[]> {
  const text = await git(repo, ...args)
  return text === '' ? [] : text.split('\n')
}

/** Every repository that is served: the nodes' and the organisations' own. */
export async function repositoriesIn(dataDir: string): Promise<string[]> {
  const orgs = (await readdir(dataDir)).filter((name) => /^[0-9a-f-]{36}$/.test(name))
  const found = await Promise.all(
    orgs.map(async (org) => (await readdir(join(dataDir, org))).map((name) => join(dataDir, org, name))),
  )
  return found.flat().filter((path) => /\/[\w-]+\.git$/.test(path) && !path.includes('/tmp-'))
}

/** Git finds nothing wrong in any repository, and no lock, empty ref or transaction is left. */
export async function expectSound(dataDir: string): Promise<void> {
  for (const repo of await repositoriesIn(dataDir)) {
    expect(await git(repo, ...fsckWords(repo)), repo).to.equal('')
    expect(await emptyRefs(repo)).to.deep.equal([])
  }
  await expectSettled(dataDir)
}

/** No lock or transaction is left: as much of `expectSound` as costs no process. */
export async function expectSettled(dataDir: string): Promise<void> {
  await expectNone(() => locksIn(dataDir))
  await expectNone(() => transactionsIn(dataDir))
}

/** What is left takes a moment to go: the sweep may be at work, and folders are removed after the answer. */
async function expectNone(look: () => Promise<string[]>): Promise<void> {
  await until(async () => (await look()).length === 0)
}

export async function locksIn(dataDir: string): Promise<string[]> {
  const files = await Promise.all((await repositoriesIn(dataDir)).map(filesBelow))
  return files.flat().filter((path) => path.endsWith('.lock'))
}

/** Folders of ref transactions, of the living and of the dead. */
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

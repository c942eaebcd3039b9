/** `grove import` beside a running service. */

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Finished, outcomeOf, runCommand } from '../support/command.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { endAfterFile, endsWithParent } from '../support/processes.ts'

export type { Finished }

type Files = Record<string, string | Buffer>

export const vault: Files = {
  'index.md': '# The garden\n\nBegin with [roses](plants/rose.md).\n',
  'plants/index.md': '---\ntitle: All plants\n---\nWhat grows here.\n',
  'plants/rose.md':
    '---\ntags: [flower, red]\nheight: 120\n---\n# Rose\n\nIt has [[thorn|sharp ends]]. ![a bush](../pictures/rose.png)\n\nSee [[Nowhere]].\n',
  'plants/thorn.md': '# Thorn\n\nPart of a [rose](rose.md), says the zoologist.\n',
  'pictures/rose.png': Buffer.from('89504e470d0a1a0a00ff', 'hex'),
  'zebra.md': '# Zebra\n\nEats none of it.\n',
}

export function orgIn({ stdout, stderr }: Finished): string {
  const id = /\(([0-9a-f-]{36})\)/.exec(stdout)?.[1]
  if (id === undefined) throw new Error(`the import named no organisation:\n${stdout}${stderr}`)
  return id
}

export let grove: Grove

export let ann: PersonClient

const temporary: string[] = []

export async function folderOf(name: string, files: Files): Promise<string> {
  const outer = await mkdtemp(join(tmpdir(), 'grove-import-'))
  temporary.push(outer)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(outer, name, path)), { recursive: true })
    await writeFile(join(outer, name, path), content)
  }
  return join(outer, name)
}

/** By title. */
export async function nodesOf(org: string): Promise<Map<string, { id: string; head: string }>> {
  const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
  return new Map(
    body.nodes.map(({ title, id, head }: { title: string; id: string; head: string }) => [title, { id, head }]),
  )
}

/** `source→target label` of every connection. */
export async function linksIn(org: string): Promise<string[]> {
  const nodes = await nodesOf(org)
  const titleOf = new Map([...nodes].map(([title, { id }]) => [id, title]))
  const links = new Set<string>()
  for (const { id } of nodes.values()) {
    const { connections } = (await ann.get(`/orgs/${org}/nodes/${id}`)).body
    for (const { source, target, label } of connections)
      links.add(`${titleOf.get(source)}→${titleOf.get(target)} ${label}`.trim())
  }
  return [...links].sort()
}

export function importAs(folder: string, ...more: string[]): Promise<Finished> {
  return run('import', folder, '--as', 'ann@example.org', ...more)
}

export function run(...args: string[]): Promise<Finished> {
  return runCommand(args, environment())
}

/** In a process of its own. */
export function start(args: string[], more: Record<string, string> = {}) {
  const child = endAfterFile(
    spawn(process.execPath, [...endsWithParent, 'dist/cli.js', ...args], { env: { ...environment(), ...more } }),
  )
  const said = { stdout: '', stderr: '' }
  return { child, said, done: outcomeOf(child, said) }
}

export function environment(): NodeJS.ProcessEnv {
  return { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16' }
}

/** A service of its own for each file. */
export function useService(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(async () => {
    await grove.close()
    for (const folder of temporary) await rm(folder, { recursive: true, force: true })
  })
}

/** Folders of Markdown to plan an import of, and short ways to ask what the plan says. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import type { KnownContent, KnownNode } from '../../server/features/vault/plan/inventory.ts'
import { type Plan, type PlannedNode, type PlanOptions, planImport } from '../../server/features/vault/plan/plan.ts'
import { listFolder } from '../../server/features/vault/read/folder.ts'

export const org = '8f14e45f-ceea-467f-a1d3-0c6f9b1f2a11'

const folders: string[] = []

/** A folder `Garden` with these files. */
export async function garden(files: Record<string, string | Buffer>): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), 'grove-import-'))
  folders.push(temporary)
  const folder = join(temporary, 'Garden')
  await mkdir(folder)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

export async function plan(files: Record<string, string | Buffer>, options?: PlanOptions): Promise<Plan> {
  return planOf(await garden(files), org, options)
}

/** The nodes of an organisation, by id. */
export type Known = Map<string, KnownNode & KnownContent>

/** @param known what earlier plans have made */
export async function planOf(
  folder: string,
  orgId: string,
  options: PlanOptions = {},
  { known = new Map(), elsewhere = [] }: { known?: Known; elsewhere?: readonly string[] } = {},
): Promise<Plan> {
  const inventory = { orgId, nodes: [...known.values()], contentsOf, takenElsewhere }
  return planImport(await listFolder(folder), inventory, options)

  async function* contentsOf(ids: readonly string[]): AsyncGenerator<KnownContent> {
    for (const id of ids) yield known.get(id) ?? expect.fail(`there is no ${id}`)
  }

  async function takenElsewhere(ids: readonly string[]): Promise<Set<string>> {
    return new Set(ids.filter((id) => elsewhere.includes(id)))
  }
}

/** Writes a plan into `known`; nodes whose file is gone stay. */
export function apply({ nodes }: Plan, known: Known): void {
  for (const node of nodes) {
    const { title, tags, properties } = nodeJson(node)
    const text = node.files.get('content.md')?.toString() ?? ''
    known.set(node.id, { id: node.id, title, path: properties.source_path, tags, properties, text })
  }
}

export function at({ nodes }: Plan, path: string): PlannedNode {
  const node = nodes.find((one) => one.path === path)
  if (!node) throw new Error(`no node ${path} among ${nodes.map((one) => one.path).join(', ')}`)
  return node
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any // tests compare it whole

export function nodeJson(node: PlannedNode): Json {
  return JSON.parse(node.files.get('node.json')?.toString() ?? '')
}

/** `type path "label"` of each connection, in order of the target's path. */
export function connections(plan: Plan, path: string): string[] {
  const files = [...at(plan, path).files].filter(([name]) => name.startsWith('connections/'))
  return files
    .map(([, bytes]) => JSON.parse(bytes.toString()))
    .map(({ target, type, label }) => ({
      type,
      label,
      path: plan.nodes.find((node) => node.id === target)?.path ?? '?',
    }))
    .map(({ type, label, path }) => [type, path, ...(label === undefined ? [] : [JSON.stringify(label)])].join(' '))
    .sort((a, b) => a.localeCompare(b))
}

/** `path: kind target` of each link that leads to nothing. */
export function unresolved(plan: Plan): string[] {
  return plan.unresolved.map(({ path, kind, target }) => `${path}: ${kind} ${target}`)
}

/** The parts of a node's files that have a meaning in no format. */
export function attachments(plan: Plan, path: string): string[] {
  return [...at(plan, path).files.keys()].filter(
    (name) => !/^(node\.json|content\.md|(parents|connections)\/.*)$/.test(name),
  )
}

/** The folders go after each test. */
export function useGardens(): void {
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
  })
}

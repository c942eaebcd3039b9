/** Shared by the tests of uploaded imports. It has a service, a user, and an organisation's content. */

import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Client, type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove

export let ann: PersonClient

export let bob: PersonClient

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
  })
  after(() => grove.close())
}

export async function newOrg(): Promise<string> {
  return (await ann.post('/orgs', { name: `Atlas ${randomUUID()}` }).then(expecting(201))).body.id
}

/** The files of every node by its path in the folder, with paths instead of ids. */
export async function contentIn(who: Client, org: string): Promise<Record<string, unknown>> {
  const { body } = await who.get(`/orgs/${org}/nodes?limit=200`)
  const pathOf = new Map<string, string>()
  for (const { id, properties } of body.nodes) pathOf.set(id, properties.source_path)
  const found: Record<string, unknown> = {}
  for (const { id } of body.nodes) {
    const at = `/orgs/${org}/nodes/${id}/tree/main`
    const { entities } = (await who.get(`${at}?limit=200`)).body
    const node: Record<string, unknown> = {}
    for (const { entity_key: key } of entities) {
      const { body: bytes } = await who.get(`${at}/raw/${encodeURIComponent(key)}`)
      const text = typeof bytes === 'string' ? bytes : JSON.stringify(bytes)
      // The name of a connection has a part of the target's id.
      const name = key.startsWith('connections/') ? `connection: ${text}` : key
      node[withPaths(name, pathOf)] = withPaths(text, pathOf)
    }
    found[pathOf.get(id) ?? id] = node
  }
  return found
}

function withPaths(text: string, pathOf: ReadonlyMap<string, string>): string {
  return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => `<${pathOf.get(id) ?? 'another'}>`)
}

/** The names below the folder of an import that are not its record. */
export async function spoolOf(org: string, id: string, dataDir = grove.dataDir): Promise<string[]> {
  const names = await readdir(join(dataDir, 'uploads', org, id))
  return names.filter((name) => !/^(record|report)\.json$|^cancel$/.test(name))
}

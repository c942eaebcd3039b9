/** Pages of an organisation that `grove import` has made of a folder. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { made } from '../support/cast.ts'
import type { Grove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import type { ShownPage } from './every-page.ts'

const run = promisify(execFile)
/** Nodes of which the one with most connections is shown. */
const candidates = 100

export async function listVaultPages(grove: Grove, ann: PersonClient, vault: string): Promise<ShownPage[]> {
  const org = await imported(grove, ann, vault)
  const { nodes } = (await ann.get(`/orgs/${org}/nodes?limit=${candidates}`)).body
  const whole = await Promise.all(
    nodes.map(async ({ id }: { id: string }) => (await ann.get(`/orgs/${org}/nodes/${id}`)).body),
  )
  const [node] = whole.sort((a, b) => b.connections.length - a.connections.length)
  const at = `/orgs/${org}/nodes/${node.id}`
  const change = { action: 'put', path: 'content.md', content: `${node.text_content}\nOne more paragraph, proposed.\n` }
  await made(ann.post(`${at}/branches`, { name: 'more' }))
  await made(ann.post(`${at}/tree/more/commits`, { message: 'Say more', changes: [change] }))
  await made(ann.post(`${at}/pull-requests`, { source_branch: 'more', title: 'Say more' }))
  const page = pageAt(org, node.id)
  const [word] = node.title.split(/\s+/)
  const paths = {
    organisation: pageAt(org),
    find: `${pageAt(org)}/find?q=${encodeURIComponent(word)}`,
    node: page,
    edit: `${page}/edit`,
    history: `${page}/history`,
    blame: `${page}/blame`,
    proposal: `${page}/proposals/1`,
    graph: `${pageAt(org)}/graph`,
    focus: `${pageAt(org)}/graph?focus=${node.id}`,
  }
  return Object.entries(paths).map(([name, path]) => ({ name: `vault-${name}`, path }))
}

/** The organisation's id. */
async function imported(grove: Grove, ann: PersonClient, vault: string): Promise<string> {
  const { id } = await made(ann.post('/orgs', { name: basename(resolve(vault)), published: true }))
  const { token } = await made(ann.post('/auth/tokens', { name: 'shots', access: 'write' }))
  const folder = await mkdtemp(join(tmpdir(), 'grove-shots-'))
  try {
    const file = join(folder, 'token')
    await writeFile(file, token, { mode: 0o600 })
    const args = ['dist/cli.js', 'import', vault, '--to', grove.url, '--token-file', file, '--org', id]
    // It ends with 1 where it left out a file.
    await run('node', args, { maxBuffer: 64 * 1_024 * 1_024 }).catch(({ stderr }) => console.error(stderr))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return id
}

/** Archives to import, and imports in each state. */

import { type ClientRequest, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import type { components } from '../../spec/types.ts'
import type { Answer, Client } from './people.ts'
import { until } from './until.ts'

export type Import = components['schemas']['MarkdownImport']

export type Files = Readonly<Record<string, string | Buffer>>

/** Makes a ZIP of the files, by path. */
export async function zipOf(files: Files): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [path, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), path)
  zip.end()
  return buffer(zip.outputStream)
}

export function sendZip(who: Client, org: string, zip: Buffer, query = ''): Promise<Answer> {
  return who.post(`/orgs/${org}/imports${query}`, zip, { 'content-type': 'application/zip' })
}

/** Imports the archive, and returns the import when it has ended. */
export async function imported(who: Client, org: string, zip: Buffer, query = ''): Promise<Import> {
  const { status, body } = await sendZip(who, org, zip, query)
  if (status !== 202) throw new Error(`The import was answered ${status} ${JSON.stringify(body)}`)
  return ended(who, org, body.id)
}

/** Resolves with the import when it is neither queued nor running. */
export async function ended(who: Client, org: string, id: string): Promise<Import> {
  let found: Import | undefined
  await until(async () => {
    found = (await who.get(`/orgs/${org}/imports/${id}`)).body
    return found?.state !== 'queued' && found?.state !== 'running'
  })
  if (found === undefined) throw new Error('The import was never read')
  return found
}

/** Archives that are being sent and never arrive completely, by organisation. */
const halfSent = new Map<string, ClientRequest>()

/** Breaks off a half-sent archive, whose import would otherwise wait a minute for the rest. Waits for all imports. */
export async function untilImportsEnd(who: Client, org: string): Promise<void> {
  halfSent.get(org)?.destroy()
  halfSent.delete(org)
  await until(async () => {
    const { imports } = (await who.get(`/orgs/${org}/imports`)).body
    return imports.every(({ state }: Import) => state !== 'queued' && state !== 'running')
  })
}

/** Imports that are done, by organisation. */
const done = new Map<string, string>()

/** Returns the id of an import that is done. All calls for an organisation share one. */
export async function makeImport(who: Client, org: string): Promise<string> {
  const known = done.get(org)
  if (known !== undefined) return known
  await untilImportsEnd(who, org)
  const { id } = await imported(who, org, await zipOf({ 'krill.md': '# Krill\n' }))
  done.set(org, id)
  return id
}

/** Returns the id of an import whose archive never arrives completely. It is queued until the next one begins. */
export async function makeHalfSentImport({ url }: { readonly url: string }, who: Client, org: string): Promise<string> {
  await untilImportsEnd(who, org)
  // The session of a client that has changed its password is over.
  const { token } = (await who.post('/auth/tokens', { name: 'half-sent', access: 'write' })).body
  const sending = request(`${url}/orgs/${org}/imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
  })
  sending.on('error', () => {})
  sending.on('response', (answer) => answer.resume())
  sending.write('PK')
  halfSent.set(org, sending)
  let id: string | undefined
  await until(async () => {
    const { imports } = (await who.get(`/orgs/${org}/imports`)).body
    id = imports.find(({ state }: Import) => state === 'queued')?.id
    return id !== undefined
  })
  return id ?? ''
}

/** Shared by the tests of /mcp. It has a service for each file, users with tokens, and the official client. */

import { resolve } from 'node:path'
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { closeAfterFile } from '../support/processes.ts'

export let grove: Grove
export let ann: PersonClient

export function useScene(options: GroveOptions = {}): void {
  before(async () => {
    grove = await startGrove(options)
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())
}

export type Revision = '2025-11-25' | '2026-07-28'

interface Bounds {
  readonly org_id?: string
  readonly node_id?: string
}

export async function tokenOf(
  access: 'read' | 'propose' | 'write',
  bounds: Bounds = {},
  person = ann,
): Promise<string> {
  return (await made(person.post('/auth/tokens', { name: 'Model', access, ...bounds }))).token
}

/** A model's connection. */
export interface Model {
  readonly client: Client
  /** The text of an answer that is none of a refusal. */
  ask(tool: string, input: object): Promise<string>
  /** The text of a refusal. */
  refused(tool: string, input: object): Promise<string>
}

/** Over HTTP. */
export function connectHttp(
  token: string,
  revision: Revision = '2026-07-28',
  at: { url: string } = grove,
): Promise<Model> {
  return connected(httpTransport(token, at), revision)
}

/** Over `grove mcp`. */
export function connectStdio(
  token: string,
  revision: Revision = '2026-07-28',
  at: { url: string } = grove,
): Promise<Model> {
  return connected(stdioTransport(token, at), revision)
}

export function httpTransport(token: string, at: { url: string } = grove): Transport {
  const headers = { authorization: `Bearer ${token}` }
  return new StreamableHTTPClientTransport(new URL(`${at.url}/mcp`), { requestInit: { headers } })
}

export function stdioTransport(token: string, at: { url: string } = grove): Transport {
  const env = { PATH: process.env.PATH ?? '', GROVE_URL: at.url, GROVE_TOKEN: token }
  // It ends by itself when this process does: it reads its standard input.
  const args = [resolve('dist/cli.js'), 'mcp']
  return new StdioClientTransport({ command: process.execPath, args, env })
}

async function connected(transport: Transport, revision: Revision): Promise<Model> {
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  closeAfterFile(() => client.close())
  const call = async (name: string, input: object) => {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: { ...input } })
    expect(structuredContent, 'what would be shown in place of the text').to.equal(undefined)
    const [first, ...others] = content
    expect(others).to.deep.equal([])
    if (first?.type !== 'text') throw new Error(`${name} has not answered with a text`)
    return { text: first.text, isError: isError === true }
  }
  return {
    client,
    ask: async (name, input) => {
      const { text, isError } = await call(name, input)
      expect(isError, text).to.equal(false)
      return text
    },
    refused: async (name, input) => {
      const { text, isError } = await call(name, input)
      expect(isError, text).to.equal(true)
      return text
    },
  }
}

/** The content of the marks in an answer, by kind. `outside` has the service's own words. */
export interface Parted {
  readonly outside: string
  readonly parts: Readonly<Record<string, string>>
}

/** By the rule that `instructions` give. @throws Error where a mark is not closed, or marks have several ids */
export function parted(answer: string): Parted {
  const parts: Record<string, string> = {}
  const id = /^<content id="([\w-]+)"/m.exec(answer)?.[1]
  if (id === undefined) return { outside: answer, parts }
  const mark = new RegExp(
    `\\n<content id="${id}" of="([^"]*)"(?: source="[^"]*")?>\\n([\\s\\S]*?)\\n</content id="${id}">`,
    'g',
  )
  const outside = answer.replace(mark, (_, of, inside) => {
    parts[of] = inside
    return ''
  })
  if (outside.includes(id)) throw new Error(`A mark is not closed: ${outside}`)
  return { outside, parts }
}

/** The lines of a part, each a fact. */
export function factsIn(answer: string, part: string): Readonly<Record<string, unknown>>[] {
  return (parted(answer).parts[part] ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

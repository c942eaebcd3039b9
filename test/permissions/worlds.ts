/**
 * Two services whose data differ only in what no caller may see. All that can be read of them is compared: operations,
 * exports, tools of models, pages by following links, feeds, and what Git's door offers.
 */

import { cp, rm } from 'node:fs/promises'
import document from '../../spec/openapi.json' with { type: 'json' }
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { callMcp } from '../support/mcp-calls.ts'
import { client } from '../support/people.ts'
import { specOperations } from '../support/permissions.ts'

export interface Worlds {
  readonly plain: Grove
  /** The world that also has what is hidden. */
  readonly hiding: Grove
  close(): Promise<void>
}

/** What a caller is called, and the access token of the caller. */
export interface WorldCaller {
  readonly name: string
  readonly token?: string
}

/** What is asked for. */
export interface Asked {
  /** Values of the parameters of paths. Each operation is asked once for each node. */
  readonly params: Readonly<Record<string, string>>
  readonly nodes: readonly string[]
  /** Pages to begin with. Links lead to the others. */
  readonly pages: readonly string[]
  /** A word that only hidden content has. */
  readonly word: string
  /** The parts of answers that are left out. */
  readonly ignored: RegExp
  /** True if the answer to this request may differ. Links to it are not followed. */
  mayDiffer(caller: WorldCaller, request: string): boolean
}

/**
 * Makes the first world by `prepare`, copies its folder, and makes the second one by `hide`. Both start from their
 * repositories alone if `isRebuilt`.
 */
export async function makeWorlds<T>(
  prepare: (grove: Grove) => Promise<T>,
  hide: (dataDir: string, made: T) => Promise<void>,
  isRebuilt: boolean,
): Promise<Worlds & { readonly made: T }> {
  const first = await startGrove({ dataDir: await newDataDir() })
  const made = await prepare(first)
  await first.close()
  const second = await newDataDir()
  await cp(first.dataDir, second, { recursive: true })
  await hide(second, made)
  if (isRebuilt)
    for (const folder of [first.dataDir, second])
      for (const end of ['', '-shm', '-wal']) await rm(`${folder}/index.sqlite${end}`, { force: true })
  const started = new Date()
  const now = () => started
  const [plain, hiding] = [
    await startGrove({ dataDir: first.dataDir, now, auditFetches: false, sweeps: false }),
    await startGrove({ dataDir: second, now, auditFetches: false, sweeps: false }),
  ]
  return {
    made,
    plain,
    hiding,
    close: async () => {
      for (const world of [plain, hiding]) {
        await world.close()
        await rm(world.dataDir, { recursive: true, force: true })
      }
    },
  }
}

/** The requests whose answers differ, each with both answers. Also how many were compared. */
export async function differencesOf(
  { plain, hiding }: Worlds,
  caller: WorldCaller,
  asked: Asked,
): Promise<{ readonly compared: number; readonly differing: readonly string[] }> {
  const [before, after] = [await answersOf(plain, caller, asked), await answersOf(hiding, caller, asked)]
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  const differing = keys.filter((key) => before.get(key) !== after.get(key) && !asked.mayDiffer(caller, key))
  return {
    compared: keys.length,
    differing: differing.map((key) => `${caller.name}: ${key}: ${partsThatDiffer(before.get(key), after.get(key))}`),
  }
}

/** Both texts around their first difference. */
function partsThatDiffer(before = 'not asked', after = 'not asked'): string {
  const at = [...before].findIndex((character, place) => character !== after[place])
  const partOf = (text: string) => text.slice(Math.max(0, at - 60), Math.max(0, at) + 80)
  return `${partOf(before)} ≠ ${partOf(after)}`
}

async function answersOf(grove: Grove, caller: WorldCaller, asked: Asked): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const who = client(grove, caller.token)
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const { status, body, headers: answered } = await who.get(path, headers)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    // The address of the service, which differs, is in a page, and express makes an ETag of the bytes of an answer.
    const etag = path.startsWith('/orgs/') && answered.etag?.replace(/^W\/"[0-9a-f]+-.*/, '')
    const told = [status, etag, answered.link, answered.location, text]
    found.set(path, withoutPlace(grove, told.join(' ')).replace(asked.ignored, ''))
    return text ?? ''
  }
  for (const path of pathsOf(asked)) await ask(path)
  // Tools need a token.
  for (const [name, input] of caller.token === undefined ? [] : toolCallsOf(asked)) {
    const told = await callMcp(grove, caller.token, 'tools/call', name, input)
    found.set(`${name} ${JSON.stringify(input)}`, withoutPlace(grove, JSON.stringify(told)).replace(asked.ignored, ''))
  }
  const html = { accept: 'text/html', ...(caller.token && { cookie: `session=${caller.token}` }) }
  const waiting = [...asked.pages, ...asked.nodes.map((id) => `/o/${asked.params.org_id}/${id}`)]
  for (const path of waiting) {
    if (found.has(path)) continue
    for (const [, href = ''] of (await ask(path, html)).matchAll(/href="(\/[^"#]*)/g)) {
      const next = href.replaceAll('&amp;', '&')
      const isFollowed = !/^\/(assets|docs)\//.test(next) && !asked.mayDiffer(caller, next)
      if (isFollowed && waiting.length < mostPages && !waiting.includes(next)) waiting.push(next)
    }
  }
  return found
}

/** Pages that are followed. */
const mostPages = 250

/** The paths of all reads, of Git's door and of feeds. Searches ask for the word. */
function pathsOf({ params, nodes, word }: Asked): string[] {
  const paths = specOperations
    // The export of personal data is a zip with the user's last requests.
    .filter(({ id, method }) => method === 'GET' && id !== 'exportMyData')
    .flatMap(({ path }) => {
      const ids = path.includes('{node_id}') ? nodes : ['']
      return ids.map((node_id) =>
        path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'node_id' ? node_id : (params[name] ?? 'none'))),
      )
    })
  const query = new URLSearchParams({ q: word }).toString()
  const asked = paths.flatMap((path) => (/search|graph|nodes$|tags$/.test(path) ? [path, `${path}?${query}`] : [path]))
  const doors = nodes.flatMap((id) =>
    ['git-upload-pack', 'git-receive-pack'].map(
      (service) => `/git/${params.org_id}/${id}.git/info/refs?service=${service}`,
    ),
  )
  return [...asked, ...doors, '/robots.txt', `/o/${params.org_id}/sitemap.xml`, `/o/${params.org_id}/feed.xml`]
}

/** Calls of each tool that only reads. */
function toolCallsOf({ params: { org_id }, nodes, word }: Asked): readonly (readonly [tool: string, input: object])[] {
  const ofOrg: Readonly<Record<string, readonly object[]>> = {
    list_organisations: [{}],
    search: [{ org_id, query: word, expand: 'deep' }],
    list_nodes: [{ org_id }, { org_id, where: `title~${word}`, facets: ['tag'] }],
    list_properties: [{ org_id }],
    list_types: [{ org_id }],
    list_proposals: [{ org_id, status: 'all' }],
    waiting: [{}, { org_id }],
    list_trash: [{ org_id }],
  }
  const ofNode = (node_id: string): Readonly<Record<string, readonly object[]>> => {
    const at = { org_id, node_id }
    return {
      read_node: [at, { ...at, path: 'content.md' }],
      ...{ neighbours: [at], history: [at], diff: [{ ...at, head: 'draft' }], list_proposals: [at] },
      read_discussion: [{ ...at, number: 1 }],
    }
  }
  const calls = [ofOrg, ...nodes.map(ofNode)].flatMap((some) => Object.entries(some))
  return calls.flatMap(([name, inputs]) => inputs.map((input) => [name, input] as const))
}

/** Leaves out the port, and what each process or answer draws anew. */
function withoutPlace({ url }: Grove, text: string): string {
  return text
    .replaceAll(url, '')
    .replaceAll(new URL(url).host, '')
    .replace(/(data-node|name="(?:id|copy)" value)="[0-9a-f-]{36}"/g, '$1')
    .replace(/"(id|request_id)":"[0-9a-f-]{36}","(at|detail)"/g, '"$2"')
    .replace(/<(\/?content) id=\\*"[\w-]+/g, '<$1')
    .replace(/nonce[-=]"?[\w+/=-]+/g, 'nonce')
    .replace(/"version":"(\d+)-[0-9a-f-]{36}-/g, '"version":"$1-')
}

/** The number of the spec's reads, so that a test can say that none is left out. */
export const reads = Object.values(document.paths).filter((item) => 'get' in item).length

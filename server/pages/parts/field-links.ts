/** Connections of a type in a form. New ones are named by the titles of their targets. */

import type { Api } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { hexDigest } from '../../markdown/connection-ids.ts'
import { folded } from '../../markdown/note-names.ts'
import { asJson } from '../edits.ts'
import type { TypeConnection } from '../text/type-labels.ts'
import { unlessBusy } from './degraded.ts'

type Node = AnswerOf<'getNode'>
type Suggested = AnswerOf<'suggestTitles'>['suggestions'][number]

/** `targets`: titles that are suggested. `found`: pages to choose from. `said`: characters of a title in a sentence. */
const most = { targets: 200, found: 8, said: 80 } as const

/** A connection that the node has. */
interface HeldLink {
  readonly id: string
  readonly target: string
  readonly title: string
  readonly isKept: boolean
}

/** The connections of one type in the form. */
export interface LinkState {
  readonly connection: TypeConnection
  readonly held: readonly HeldLink[]
  /** Titles of new targets, as typed. */
  readonly typed: readonly string[]
  /** Pages that a typed title may mean, which the visitor chooses from. */
  readonly found: readonly Suggested[]
  /** Pages that the visitor has chosen. */
  readonly chosen: readonly Suggested[]
  /** Titles of pages of the right types. */
  readonly suggested: readonly string[]
  /** Sentences about titles that the visitor must decide on before the form is stored. */
  readonly asks: readonly string[]
}

type Definitions = ReadonlyMap<string, AnswerOf<'getType'>>

/** Returns the connections of a node as the form shows them. */
export async function readLinks(
  api: Api,
  org_id: string,
  connections: readonly TypeConnection[],
  node: Pick<Node, 'id' | 'connections'> | undefined,
): Promise<LinkState[]> {
  const wanted = connections.some(({ rule }) => rule.to !== undefined)
  const { types } = wanted ? await api.listTypes({ path: { org_id }, query: { limit: 200 } }) : { types: [] }
  const known = new Map(types.map((type) => [type.name, type]))
  return Promise.all(
    connections.map(async (connection) => ({
      connection,
      held: (node?.connections ?? [])
        .filter(({ source, type }) => source === node?.id && type === connection.name)
        .map(({ id, target, target_title }) => ({ id, target, title: target_title, isKept: true })),
      ...{ typed: [], found: [], chosen: [], asks: [] },
      suggested: await unlessBusy(readTitles(api, org_id, connection, known), []),
    })),
  )
}

/** Returns titles of pages of the types that a connection leads to. */
async function readTitles(api: Api, org_id: string, { rule }: TypeConnection, known: Definitions): Promise<string[]> {
  const names = (rule.to ?? []).flatMap((name) => [name, ...(known.get(name)?.definition.aliases ?? [])]).slice(0, 100)
  if (names.length === 0) return []
  const where = { field: 'type' as const, op: 'is' as const, value: names }
  const { nodes } = await api.queryNodes({ path: { org_id }, body: { where, sort: 'title', limit: most.targets } })
  return nodes.map(({ title }) => title)
}

/** Returns the connections as they were sent. A title becomes a chosen page, or the form asks about it. */
export async function withSentLinks(
  api: Api,
  org_id: string,
  state: LinkState,
  form: URLSearchParams,
): Promise<LinkState> {
  const { name } = state.connection
  if (!form.has(`links:${name}`)) return state
  const had = new Set(form.getAll(`had:${name}`))
  const kept = new Set(form.getAll(`keep:${name}`))
  const held = state.held.map((one) => ({ ...one, isKept: !had.has(one.id) || kept.has(one.id) }))
  const titles = form.getAll(`add:${name}`).map((title) => title.trim().slice(0, limits.title))
  const chosen = await Promise.all(
    form
      .getAll(`pick:${name}`)
      .slice(0, 50)
      .map((id) => readChosen(api, org_id, id)),
  )
  let sent: LinkState = { ...state, held, chosen: chosen.flatMap((one) => one ?? []), typed: [] }
  const offered = new Set(form.getAll(`offer:${name}`))
  const answers = new Set(sent.chosen.map(({ node_id }) => node_id).filter((id) => offered.has(id)))
  for (const title of titles.filter((one) => one !== ''))
    sent = withTitle(sent, title, await findPages(api, org_id, title), answers)
  return sent
}

async function readChosen(api: Api, org_id: string, node_id: string): Promise<Suggested | undefined> {
  if (!/^[0-9a-f-]{36}$/.test(node_id)) return undefined
  const path = { org_id, node_id }
  const node = await unlessBusy<Node | undefined>(api.getNode({ path }), undefined, ['node_not_found'])
  return node && { node_id: node.id, title: node.title }
}

async function findPages(api: Api, org_id: string, q: string): Promise<readonly Suggested[]> {
  return (await api.suggestTitles({ path: { org_id }, query: { q, limit: most.found } })).suggestions
}

/**
 * Adds the page that a title means. A title of several pages stays until the visitor ticks one of them.
 *
 * @param answers pages that the visitor has ticked among the offered ones. Each answers for one title, and leaves the set
 */
function withTitle(state: LinkState, title: string, pages: readonly Suggested[], answers: Set<string>): LinkState {
  const { chosen, held, found, typed, asks } = state
  const same = pages.filter((page) => folded(page.title) === folded(title))
  const [only] = same
  if (only && same.length === 1) return { ...state, chosen: [...chosen, only] }
  if (pages.some(({ node_id }) => answers.delete(node_id))) return state
  const shown = title.slice(0, most.said)
  if (pages.length === 0)
    return { ...state, typed: [...typed, title], asks: [...asks, `No page has a title like “${shown}”.`] }
  const taken = new Set([
    ...chosen.map(({ node_id }) => node_id),
    ...held.flatMap(({ target, isKept }) => (isKept ? target : [])),
  ])
  const candidates = (same.length > 1 ? same : pages).filter(({ node_id }) => !taken.has(node_id))
  const [one] = candidates
  if (one === undefined)
    return {
      ...state,
      typed: [...typed, title],
      asks: [...asks, `Each page with a title like “${shown}” is connected already.`],
    }
  if (candidates.length === 1) {
    const says = `“${shown}” seems to mean “${one.title.slice(0, most.said)}”, which is ticked now. Save again to keep it.`
    return { ...state, chosen: [...chosen, one], asks: [...asks, says] }
  }
  return {
    ...state,
    ...{ typed: [...typed, title], asks: [...asks, `“${shown}” may mean several pages; tick one below.`] },
    found: [...new Map([...found, ...candidates].map((page) => [page.node_id, page])).values()],
  }
}

interface LinkChange {
  readonly removed: readonly string[]
  readonly added: readonly { readonly id: string; readonly target: string; readonly type: string }[]
}

/** Returns the connections to add and to remove. It adds none that the node already has. */
export function linkChangeOf({ connection: { name: type }, held, chosen }: LinkState): LinkChange {
  const kept = new Set(held.filter(({ isKept }) => isKept).map(({ target }) => target))
  const targets = [...new Set(chosen.map(({ node_id }) => node_id))].filter((target) => !kept.has(target))
  // The same form, sent twice, adds one connection.
  const idOf = (target: string) => hexDigest(JSON.stringify([type, target])).slice(0, 20)
  const added = targets.map((target) => ({ id: idOf(target), target, type }))
  const again = new Set(added.map(({ id }) => id))
  return { added, removed: held.filter(({ id, isKept }) => !isKept && !again.has(id)).map(({ id }) => id) }
}

/** Returns the changes as files. */
export function linkFiles({ added, removed }: LinkChange) {
  return [
    ...added.map(({ id, ...edge }) => ({
      action: 'put' as const,
      path: `connections/${id}.json`,
      content: asJson(edge),
    })),
    ...removed.map((id) => ({ action: 'delete' as const, path: `connections/${id}.json` })),
  ]
}

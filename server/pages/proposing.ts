/** Proposals of several pages, as forms and their scripts open them and add to them. */

import type { Api, Input } from '../../spec/client/api.ts'
import * as limits from '../base/limits.ts'
import { hexDigest } from '../markdown/connection-ids.ts'
import { codeOf } from './error-codes.ts'
import { EntryError } from './properties.ts'

type Items = Pick<Input<'openChangeSet'>['body'], 'nodes' | 'deletions' | 'restorations'>
export type Item = NonNullable<Items['nodes']>[number]

/** The proposal that takes pages: an open one by its number, or a new one. */
export type Into = { readonly number: number } | { readonly title: string; readonly is_draft: boolean }

/** Reads the choice of a form. Undefined: the page gets its own proposal. @param title of a new one without a title */
export function intoIn(field: (name: string) => string | null | undefined, title: string): Into | undefined {
  const into = field('into') ?? ''
  if (into === 'new') return newSet(field('into_title')?.trim() || title, true)
  return /^[1-9]\d{0,8}$/.test(into) ? { number: Number(into) } : undefined
}

/** A new proposal. A draft waits for more pages. The title is the first line of a message. */
export function newSet(message: string, isDraft = false): Into {
  return { title: (message.split('\n')[0] ?? '').trim().slice(0, limits.title), is_draft: isDraft }
}

/**
 * Puts pages into a proposal. A form that is sent twice opens one.
 *
 * @returns the number of the proposal
 * @throws EntryError: the pages have this content already; errors of openChangeSet and updateChangeSet
 */
export async function proposePages(api: Api, org_id: string, into: Into, items: Items): Promise<number> {
  if ('number' in into) {
    const { number } = into
    const { nodes = [] } = await api.updateChangeSet({ path: { org_id, number }, body: { add: items } })
    if (nodes.some(({ status }) => status === 'unchanged')) throw new EntryError('You have not changed anything.')
    return number
  }
  for (let round = 0; ; round++) {
    const id = uuidOf(JSON.stringify([org_id, into, items, round]))
    const { change_set: set } = await api.openChangeSet({
      path: { org_id },
      body: { ...{ id, description: '', ...into, ...items } },
    })
    // An earlier proposal of the same may have ended.
    if (set.status === 'open') return set.number
  }
}

/** Proposes a new page, as `proposePages` does. Sent twice, it is proposed once. */
export async function proposeNew(api: Api, org_id: string, into: Into, node: Item & { id: string }): Promise<number> {
  try {
    return await proposePages(api, org_id, into, { nodes: [node] })
  } catch (error) {
    if (!['node_exists', 'node_not_found', 'item_exists'].includes(codeOf(error) ?? '')) throw error
    const number = await api.getPull({ path: { org_id, node_id: node.id, number: 1 } }).then(
      ({ pr }) => pr.change_set,
      () => undefined,
    )
    if (number === undefined) throw error
    return number
  }
}

/** Returns a UUID that follows from a text. */
function uuidOf(text: string): string {
  return hexDigest(text).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
}

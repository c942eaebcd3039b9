/** Shared by the tests of inboxes. */

import type { Proposal } from '../review/scene.ts'
import { expecting, type TestNode } from '../support/node.ts'
import type { Client } from '../support/people.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
export type Item = any

/** Reads a page of the inbox, of all organisations or of one. */
export async function page(by: Client, query = '', org?: string) {
  const path = org === undefined ? '/inbox' : `/orgs/${org}/inbox`
  return (await by.get(`${path}?limit=200${query}`).then(expecting(200))).body
}

export async function inbox(by: Client, query = ''): Promise<Item[]> {
  return (await page(by, query)).items
}

/** Reads all pages of that size. */
export async function allPages(by: Client, limit: number, between: () => Promise<unknown> = async () => {}) {
  const pages: Item[][] = []
  let after = ''
  for (;;) {
    const { items, next } = (await by.get(`/inbox?limit=${limit}${after}`).then(expecting(200))).body
    pages.push(items)
    if (next === undefined) return pages
    after = `&after=${next}`
    await between()
  }
}

/** The items about a node, by what happened last: `reason type count`. */
export function saidOf(items: readonly Item[], { id }: Pick<TestNode, 'id'>): string[] {
  return items.filter((item) => item.node_id === id).map(said)
}

export function said({ reason, last_event, count, unread }: Item): string {
  return `${reason} ${last_event.type} ${count}${unread ? ' new' : ''}`
}

/** The item of a proposal. */
export function itemOf(items: readonly Item[], { node, number }: Proposal): Item {
  return items.find((item) => item.node_id === node.id && item.number === number)
}

export const follow = (by: Client, { at }: Pick<TestNode, 'at'>, scope: 'node' | 'tree' = 'node') =>
  by.put(`${at}/follow`, { scope }).then(expecting(204))

export const followOrg = (by: Client, org: string) => by.put(`/orgs/${org}/follow`).then(expecting(204))

export const edit = (by: Client, { at }: Pick<TestNode, 'at'>, title: string) =>
  by.patch(at, { title }).then(expecting(200))

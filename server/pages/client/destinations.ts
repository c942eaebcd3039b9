/** Places and actions that the switcher offers. They are recent pages, titles, organisations, and acts of this page. */

import { type Grove, GroveError, grove } from '../../../spec/client/client.ts'
import { segmentOf } from '../../base/page-segments.ts'
import { recentPages } from './recents.ts'

export interface Destination {
  /** Two destinations with the same key are the same. */
  readonly key: string
  readonly label: string
  /** The organisation of a page. */
  readonly note?: string
  readonly href?: string
  /** The button that acts, if there is no link. */
  readonly button?: HTMLElement
}

/** An organisation whose titles are searched. */
export interface Searched {
  readonly id: string
  readonly name: string
  /** The role of the user; undefined for visitors. */
  readonly role?: string | undefined
}

/** `orgs`: in addition to the current one. `here`, `elsewhere`: titles from each. `words`: UTF-16 units. */
const most = { orgs: 5, here: 7, elsewhere: 3, listed: 200, words: 200 } as const
/** Milliseconds: the lead of the current organisation, and the longest wait for an answer. */
const waits = { lead: 250, answer: 8_000 } as const

const { root = '', org: here, person } = document.body.dataset
const api: Grove = grove({ url: root, timeoutMs: waits.answer })

export const currentOrg: Searched | undefined =
  here === undefined ? undefined : { id: here, name: document.querySelector('.logo.name')?.textContent?.trim() ?? '' }

/** Returns the pages that the user read last, without the current one. */
export function recents(): Destination[] {
  if (person === undefined) return []
  const current = document.querySelector<HTMLElement>('[data-recent]')?.dataset.recent
  return recentPages(person)
    .filter(({ id }) => id !== current)
    .map(({ org, id, title, path, orgName }) => ({ key: `${org}/${id}`, label: title, note: orgName, href: path }))
}

/** Lists the user's organisations: the current one first, then those of recent pages. @throws GroveError */
export async function listOrgs(signal: AbortSignal): Promise<Searched[]> {
  if (person === undefined) return currentOrg ? [currentOrg] : []
  const { orgs } = await api.listOrgs({ query: { limit: most.listed }, signal })
  const recent = recentPages(person).map(({ org }) => org)
  const rankOf = ({ id }: Searched) => (id === here ? -1 : recent.includes(id) ? recent.indexOf(id) : recent.length)
  const sorted = orgs.map(({ id, name, role }) => ({ id, name, role })).sort((a, b) => rankOf(a) - rankOf(b))
  return currentOrg && !sorted.some(({ id }) => id === here) ? [currentOrg, ...sorted] : sorted
}

export function orgPlaces(orgs: readonly Searched[]): Destination[] {
  return orgs.map((org) => ({ key: `org ${org.id}`, label: org.name, href: orgPath(org) }))
}

function orgPath({ id, name }: Searched): string {
  return `${root}/o/${encodeURIComponent(segmentOf(id, name))}`
}

/**
 * Searches titles in the current organisation, then in the others. Calls `found` with all pages so far after each answer.
 *
 * @returns the errors in words
 */
export async function searchTitles(
  words: string,
  orgs: Promise<readonly Searched[]>,
  signal: AbortSignal,
  found: (pages: readonly Destination[]) => void,
): Promise<string[]> {
  const hits = new Map<string, readonly Destination[]>()
  const problems: string[] = []
  const ask = async (org: Searched) => {
    const asked = titlesIn(org, words, signal)
    const pages = await asked.catch((error: unknown) => {
      if (!signal.aborted) problems.push(`${org.name} could not be searched. ${reasonOf(error)}`)
      return []
    })
    if (signal.aborted) return
    hits.set(org.id, pages)
    // The order is that of the organisations, not of the answers.
    const known = await orgs.catch(() => [])
    const order = [here ?? '', ...known.map(({ id }) => id), ...hits.keys()]
    if (!signal.aborted) found([...new Set(order)].flatMap((id) => hits.get(id) ?? []))
  }
  const first = currentOrg && ask(currentOrg)
  await Promise.race([first, delay(currentOrg ? waits.lead : 0)])
  const others = (await orgs.catch(() => [])).filter(({ id }) => id !== here).slice(0, most.orgs)
  await Promise.all([first, ...(signal.aborted ? [] : others.map(ask))])
  return problems
}

async function titlesIn(org: Searched, words: string, signal: AbortSignal): Promise<Destination[]> {
  const { id, name } = org
  const query = { q: words.slice(0, most.words), limit: id === here ? most.here : most.elsewhere }
  const { suggestions } = await api.suggestTitles({ path: { org_id: id }, query, signal })
  return suggestions.map(({ node_id, title }) => ({
    ...{ key: `${id}/${node_id}`, label: title, note: name },
    href: `${orgPath(org)}/${encodeURIComponent(segmentOf(node_id, title))}`,
  }))
}

/** Returns why a request failed, as a sentence. */
export function reasonOf(error: unknown): string {
  if (error instanceof GroveError && error.status > 0) return `${error.message.replace(/\.$/, '')}.`
  return 'There was no answer. Check your connection and try again.'
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Links and buttons of this page that are actions. */
const acts = [
  ...[
    'main .act > a',
    'main .page-menu a',
    'main .page-menu button',
    '[data-key]',
    '.tools .menu a',
    '.tools .menu button',
  ],
  ...['[data-theme-toggle]', '[data-show-keys]'],
].join()

/** Returns the actions that apply here: on the page, in the organisation, in the account. */
export function actions(orgs: readonly Searched[]): Destination[] {
  const onPage = [...document.querySelectorAll<HTMLElement>(acts)].filter((one) => !one.hidden).map(toAction)
  const inBar = new Set([...document.querySelectorAll<HTMLElement>('.top *')])
  const ofPage = onPage.filter(({ element }) => !inBar.has(element))
  const ofBar = onPage.filter(({ element }) => inBar.has(element))
  const all = [...ofPage.map(({ action }) => action), ...orgActions(orgs), ...ofBar.map(({ action }) => action)]
  return all.filter(({ key }, at) => all.findIndex((one) => one.key === key) === at)
}

function toAction(element: HTMLElement): { readonly element: HTMLElement; readonly action: Destination } {
  const label = element.dataset.keyName ?? element.ariaLabel ?? element.textContent?.trim() ?? ''
  const href = element instanceof HTMLAnchorElement ? element.href : undefined
  return { element, action: { key: href ?? label, label, ...(href === undefined ? { button: element } : { href }) } }
}

function orgActions(orgs: readonly Searched[]): Destination[] {
  if (!currentOrg) return []
  const { id, name } = currentOrg
  const role = orgs.find((one) => one.id === id)?.role
  const mayPropose = role !== undefined && role !== 'reader'
  const mayWrite = mayPropose && role !== 'contributor'
  const places = [
    ...(mayPropose ? [['New page', 'new']] : []),
    ...(mayWrite ? [['Import a folder', 'import']] : []),
    [`Recent changes in ${name}`, 'changes'],
    ...(role === undefined ? [] : [[`Proposals in ${name}`, 'proposals']]),
    ...(role === undefined ? [] : [[`Members of ${name}`, 'members']]),
    ...(role === undefined ? [] : [[`Settings of ${name}`, 'settings/general']]),
  ]
  return places.map(([label = '', page = '']) => {
    // The same form as the links of the page, so that each is listed once.
    const { href } = new URL(`${orgPath(currentOrg)}/${page}`, location.href)
    return { key: href, label, href }
  })
}

/** The search of the current organisation for these words. */
export function fullSearch(words: string): Destination[] {
  if (!currentOrg || words === '') return []
  const href = `${orgPath(currentOrg)}/find?q=${encodeURIComponent(words)}`
  return [{ key: 'find', label: `Search ${currentOrg.name} for “${words}”`, href }]
}

/** Returns the destinations of which a word begins with each typed word. */
export function matching(all: readonly Destination[], words: string): Destination[] {
  const typed = wordsOf(words)
  return all.filter(({ label }) => {
    const own = wordsOf(label)
    return typed.every((word) => own.some((one) => one.startsWith(word)))
  })
}

function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.split(/[^\p{L}\p{N}]+/u).filter(Boolean)
}

/** The activity of an organisation or a page, newest first. */

import type { VNode } from 'preact'
import { AppError, ValidationError } from '../../base/errors.ts'
import { type ActivityTab, type EventType, eventCatalog, eventTypes } from '../../base/event-types.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { ActivityLines } from '../parts/activity-lines.tsx'
import { type ActivityNames, readNames } from '../parts/activity-names.ts'
import { byDay } from '../parts/dates.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { type Act, actsOf, asActivity, countSplit } from '../text/activity-acts.ts'

/** `page`: events of a page. Many lines are of two events. `rest`: more of the last act, which the page also shows. */
const most = { page: 100, rest: 20 } as const

const kinds = ['everything', 'proposals', 'edits', 'people'] as const satisfies readonly (ActivityTab | 'everything')[]
type Kind = (typeof kinds)[number]

function typesOf(kind: Kind): EventType[] {
  return eventTypes.filter((type) => {
    const { activity } = eventCatalog[type]
    return activity && (kind === 'everything' || activity.tabs?.includes(kind))
  })
}

type Way = 'before' | 'after'

/** The kind of activity that a visitor asks for, and where the page begins. */
interface Asked {
  readonly kind: Kind
  readonly way: Way
  readonly cursor: string
}

interface Found {
  readonly acts: readonly Act[]
  /** Cursors of the newer and the older page; undefined if there is none. */
  readonly newer: string | undefined
  readonly older: string | undefined
  readonly isGone: boolean
}

export async function showOrgActivity(visit: PageContext): Promise<Page> {
  const { api, urls } = visit
  const org = await api.getOrg({ path: { org_id: param(visit, 'org') } })
  const asked = askedOf(visit.query, kinds)
  const [found, open] = await Promise.all([findActs(visit, org.id, asked), countOpen(visit, org)])
  const names = await readNames(visit, org.id, found.acts)
  const shown = { visit, org, found, asked, names, kinds, base: urls.activity(org.id) }
  return {
    ...{ kind: 'page', place: { org, crumb: 'Activity' }, facts: { org, open, found, names } },
    head: { title: `Activity · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="activity" />
        <Activity {...shown} />
      </>
    ),
  }
}

export async function showNodeActivity(visit: PageContext): Promise<Page> {
  const { urls } = visit
  const at = await readAtNode(visit)
  const { org, node } = at
  const ofNode = kinds.filter((kind) => kind !== 'people')
  const asked = askedOf(visit.query, ofNode)
  const found = await findActs(visit, org.id, asked, node.id)
  const names = await readNames(visit, org.id, found.acts)
  const shown = { visit, org, found, asked, names, kinds: ofNode, base: urls.nodeActivity(org.id, node.id) }
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, found, names } },
    head: { title: `Activity of ${node.title} · ${org.name}`, noIndex: true },
    body: () => <Activity {...shown} path={<NodePath visit={visit} at={at} />} />,
  }
}

function askedOf(query: URLSearchParams, known: readonly Kind[]): Asked {
  const kind = known.find((one) => one === query.get('show')) ?? 'everything'
  const after = query.get('after')
  return after === null
    ? { kind, way: 'before', cursor: query.get('before') ?? 'now' }
    : { kind, way: 'after', cursor: after }
}

/** Reads a page of acts. A cursor that is gone or malformed finds nothing. */
async function findActs(visit: PageContext, org_id: string, asked: Asked, node_id?: string): Promise<Found> {
  const { way, cursor } = asked
  try {
    const { events, next, hasMore } = await readWhole(visit, org_id, asked, node_id)
    const acts = actsOf(way === 'before' ? events : [...events].reverse())
    const beyond = hasMore ? next : undefined
    const [newer, older] = way === 'before' ? [cursor === 'now' ? undefined : cursor, beyond] : [beyond, cursor]
    return { acts, newer, older, isGone: false }
  } catch (error) {
    const isGone = error instanceof AppError && error.code === 'cursor_gone'
    if (!isGone && !(error instanceof ValidationError)) throw error
    return { acts: [], newer: undefined, older: undefined, isGone: true }
  }
}

/** Reads events up to the end of an act. */
async function readWhole({ api }: PageContext, org_id: string, { kind, way, cursor }: Asked, node_id?: string) {
  const read = async (from: string, limit: number) => {
    const filter = { types: typesOf(kind).join(','), limit, ...(node_id !== undefined && { node_id }) }
    const page = await api.listEvents({ path: { org_id }, query: { ...filter, [way]: from } })
    return { events: page.events.map(asActivity), next: page.next, hasMore: page.has_more }
  }
  const first = await read(cursor, most.page)
  if (!first.hasMore) return first
  const split = countSplit(first.events, (await read(first.next, most.rest)).events)
  if (split === 0) return first
  const rest = await read(first.next, split)
  return { ...rest, events: [...first.events, ...rest.events] }
}

interface ActivityProps {
  readonly visit: PageContext
  readonly org: AnswerOf<'getOrg'>
  readonly found: Found
  readonly asked: Asked
  readonly names: ActivityNames
  readonly kinds: readonly Kind[]
  /** The URL of the newest page with everything. */
  readonly base: string
  readonly path?: VNode
}

const titles: Readonly<Record<Kind, string>> = {
  everything: 'Everything',
  proposals: 'Proposals',
  edits: 'Edits',
  people: 'People',
}

function Activity({ visit: { urls }, org, found, asked, names, kinds: shown, base, path }: ActivityProps) {
  const { acts, newer, older } = found
  const hrefOf = (kind: Kind, at: Partial<Record<Way, string>> = {}) => {
    const query = new URLSearchParams({ ...(kind !== 'everything' && { show: kind }), ...at })
    return query.size === 0 ? base : `${base}?${query}`
  }
  const isNewest = asked.way === 'before' && asked.cursor === 'now'
  return (
    <main id="main" class="wide changes">
      {path}
      <h1>Activity</h1>
      <nav class="tabs" aria-label="Filter activity">
        {shown.map((kind) => (
          <a href={hrefOf(kind)} aria-current={kind === asked.kind ? 'page' : undefined}>
            {titles[kind]}
          </a>
        ))}
      </nav>
      {acts.length === 0 &&
        (isNewest && older === undefined && !found.isGone ? (
          <Empty example="acts">
            Each act is listed here: pages that members write and change, proposals, comments and new members.
          </Empty>
        ) : (
          <p class="empty">{emptyWords(found, isNewest)}</p>
        ))}
      {byDay(acts, ({ events: [event] }) => event.time).map(([day, some]) => (
        <section class="card">
          <header>
            <h2>{day}</h2>
          </header>
          <ActivityLines {...{ urls, names }} org={org.id} acts={some} />
        </section>
      ))}
      {(!isNewest || older !== undefined) && (
        <p class="acts">
          {!isNewest && (
            <a class="btn" href={hrefOf(asked.kind)}>
              Newest
            </a>
          )}
          {newer !== undefined && (
            <a class="btn" href={hrefOf(asked.kind, { after: newer })} rel="prev">
              Newer
            </a>
          )}
          {older !== undefined && (
            <a class="btn" href={hrefOf(asked.kind, { before: older })} rel="next">
              Older
            </a>
          )}
        </p>
      )}
    </main>
  )
}

function emptyWords({ isGone, newer, older }: Found, isNewest: boolean): string {
  if (isGone) return 'This part of the activity is no longer kept.'
  if (older !== undefined && newer !== undefined) return 'Nothing of this kind here.'
  if (older !== undefined) return isNewest ? 'Nothing of this kind lately.' : 'There is nothing newer.'
  return 'There is nothing older.'
}

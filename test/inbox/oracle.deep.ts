/** Random acts, and the inbox of each user compared with a filter over the whole log. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ann, bob, cy, grove, pass, useScene } from '../review/scene.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { allPages, edit, follow, followOrg, type Item, page } from './scene.ts'

/** A node, and what the test knows of it. */
interface Known {
  readonly node: TestNode
  readonly parents: Set<Known>
  pulls: number
  isDeleted: boolean
}

/** The times of follows, by ids of nodes. The organisation has the id ''. */
type Followed = Map<string, { scope: 'node' | 'tree'; since: number }>

interface User {
  readonly person: PersonClient
  readonly follows: Followed
  readonly involved: Set<string>
  readonly muted: Set<string>
  mark: number
  readonly items: Map<string, number>
}

/** An event of the log. */
interface Event {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly nodeId: string | null
  readonly ms: number
  // biome-ignore lint/suspicious/noExplicitAny: each type has its own data
  readonly data: any
}

const silent = /^(branch|check|webhook|log|text)\.|^(pull_request|comment)\.edited$|^org\.(created|deleted|reset)$/

const act = fc.record({
  what: fc.constantFrom(
    ...[
      'create',
      'edit',
      'edit',
      'delete',
      'join',
      'part',
      'open',
      'open',
      'comment',
      'comment',
      'mention',
      'mute',
      'mute',
    ],
    ...['follow node', 'follow tree', 'follow tree', 'follow org', 'unfollow', 'unfollow org', 'read all', 'read item'],
  ),
  who: fc.nat(2),
  one: fc.nat(),
  other: fc.nat(),
})
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

describe('an inbox after random acts', () => {
  useScene({ sweeps: false })

  let users: User[] = []
  const nodes: Known[] = []

  before(() => {
    users = [ann, bob, cy].map((person) => ({
      ...{ person, follows: new Map(), involved: new Set(), muted: new Set(), mark: 0, items: new Map() },
    }))
  })

  const time = () => grove.deps.now().getTime()
  const live = () => nodes.filter(({ isDeleted }) => !isDeleted)
  const isBelow = (one: Known, top: Known): boolean =>
    one === top || (!one.isDeleted && [...one.parents].some((parent) => !parent.isDeleted && isBelow(parent, top)))

  async function create(by: PersonClient): Promise<void> {
    const node = await newNode(grove, { ...by, org: ann.org }, { title: 'A page' })
    nodes.push({ node, parents: new Set(), pulls: 0, isDeleted: false })
  }

  /** Does it if it is possible. */
  async function perform({ what, who, one, other }: Act): Promise<void> {
    pass(1)
    const user = users[who % 3]
    const writer = who === 2 ? ann : (user?.person ?? ann)
    const known = live()
    const [first, second] = [known[one % Math.max(known.length, 1)], known[other % Math.max(known.length, 1)]]
    if (!user) return
    const { person, follows } = user
    if (what === 'create' || !first || !second) return create(writer)
    const { at, id } = first.node
    if (what === 'edit') await edit(writer, first.node, `Page ${one} ${other} ${time()}`)
    if (what === 'delete' && one % 4 === 0) {
      await ann.delete(at).then(expecting(204))
      first.isDeleted = true
    }
    if (what === 'join' && !isBelow(second, first) && !first.parents.has(second)) {
      await writer.put(`${at}/parents/${second.node.id}`, {}).then(expecting(200))
      first.parents.add(second)
    }
    const [parent] = first.parents
    if (what === 'part' && parent && !parent.isDeleted) {
      await writer.delete(`${at}/parents/${parent.node.id}`).then(expecting(204))
      first.parents.delete(parent)
    }
    if (what === 'open') await open(first, writer, other % 3 === 0 ? users[other % 2] : undefined)
    if (what === 'comment' || what === 'mention')
      await talk(first, user, what === 'mention' ? users[other % 3] : undefined)
    if (what === 'mute' && first.pulls > 0) {
      await person.put(`${at}/pull-requests/1/read-mark`, { entry: 0, muted: other % 4 > 0 }).then(expecting(204))
      if (other % 4 > 0) user.muted.add(`${id} 1`)
      else user.muted.delete(`${id} 1`)
    }
    const scope = what === 'follow node' ? 'node' : 'tree'
    if (what === 'follow node' || what === 'follow tree') {
      await follow(person, first.node, scope)
      follows.set(id, { scope, since: follows.get(id)?.since ?? time() })
    }
    if (what === 'follow org' && other % 3 === 0) {
      await followOrg(person, ann.org)
      follows.set('', { scope: 'tree', since: follows.get('')?.since ?? time() })
    }
    if (what === 'unfollow') {
      await person.delete(`${at}/follow`).then(expecting(204))
      follows.delete(id)
    }
    if (what === 'unfollow org') {
      await person.delete(`/orgs/${ann.org}/follow`).then(expecting(204))
      follows.delete('')
    }
    if (what === 'read all' && one % 3 === 0) await readAll(user)
    if (what === 'read item') await readItem(user, other)
  }

  async function open(known: Known, by: PersonClient, asked: User | undefined): Promise<void> {
    const { at, id } = known.node
    const name = `b${known.pulls + 1}`
    await by.post(`${at}/branches`, { name, from: 'main' }).then(expecting(201))
    const reviewers = asked && asked.person !== by ? [asked.person.user.id] : []
    const body = { source_branch: name, title: name, reviewers }
    await by.post(`${at}/pull-requests`, body).then(expecting(201))
    known.pulls++
    const opener = users.find(({ person }) => person === by)
    for (const user of [opener, ...(reviewers.length > 0 ? [asked] : [])]) user?.involved.add(`${id} ${known.pulls}`)
  }

  async function talk(known: Known, user: User, mentioned: User | undefined): Promise<void> {
    if (known.pulls === 0) return
    const { at, id } = known.node
    const text = mentioned ? `See, @${mentioned.person.user.name}.` : 'A word.'
    await user.person.post(`${at}/pull-requests/${known.pulls}/comments`, { text }).then(expecting(201))
    for (const one of [user, mentioned]) one?.involved.add(`${id} ${known.pulls}`)
  }

  async function readAll(user: User): Promise<void> {
    const { now } = await page(user.person, '', ann.org)
    await user.person.put('/inbox-mark', { cursor: now }).then(expecting(204))
    user.mark = (await log()).at(0)?.seq ?? 0
    for (const [subject, seq] of user.items) if (seq <= user.mark) user.items.delete(subject)
  }

  async function readItem(user: User, at: number): Promise<void> {
    const { items } = await page(user.person, '', ann.org)
    const item = items[at % Math.max(items.length, 1)]
    if (!item) return
    await user.person.put(`/orgs/${ann.org}/inbox-mark`, { item: item.id }).then(expecting(204))
    const event = (await log()).find(({ id }) => id === item.last_event.id)
    if (!event) throw new Error('The item has no event')
    const subject = subjectOf(event)
    user.items.set(subject, Math.max(event.seq, user.items.get(subject) ?? 0))
  }

  /** The whole log, the newest event first. */
  async function log(): Promise<Event[]> {
    const rows = await grove.deps.events.read.selectFrom('event').selectAll().where('org_id', '=', ann.org).execute()
    return rows
      .map(({ seq, type, node_id, recorded_ms, body }) => {
        const { id, data } = JSON.parse(body)
        return { id, seq, type, nodeId: node_id, ms: recorded_ms, data }
      })
      .sort((one, other) => other.seq - one.seq)
  }

  function subjectOf({ nodeId, data }: Event): string {
    return data.number === undefined ? `${nodeId} by ${data.actor?.id}` : `${nodeId} #${data.number}`
  }

  /** Returns why the user hears of the event, and whether it is new. */
  function interest(user: User, event: Event): { readonly reason: string; readonly since: number } | undefined {
    const { person, follows, involved, muted } = user
    const { type, nodeId, data } = event
    const me = person.user.id
    if (data.actor?.id === me) return undefined
    const known = nodes.find(({ node }) => node.id === nodeId)
    const isLive = (key: string) => live().some(({ node }) => key.startsWith(node.id))
    const readsAll = [...follows].some(([id, { scope }]) => id === '' || scope === 'tree')
    const isRead =
      readsAll ||
      follows.has(nodeId ?? '-') ||
      [...involved].some((key) => key.startsWith(nodeId ?? '-') && isLive(key))
    if (!isRead) return undefined
    if (data.reviewers?.includes(me)) return { reason: 'review_requested', since: 0 }
    if (data.mentions?.includes(me)) return { reason: 'mentioned', since: 0 }
    if (silent.test(type)) return undefined
    const key = `${nodeId} ${data.number}`
    if (muted.has(key)) return undefined
    if (involved.has(key) && isLive(key)) return { reason: 'involved', since: 0 }
    const own = follows.get(nodeId ?? '-')
    if (own?.scope === 'node') return { reason: 'following_node', since: own.since }
    const trees = treesOf(follows).flatMap(({ id, since }) => {
      const top = nodes.find(({ node }) => node.id === id)
      return top && known && isBelow(known, top) ? [since] : []
    })
    if (trees.length > 0) return { reason: 'following_tree', since: Math.min(...trees) }
    const whole = follows.get('')
    return whole && { reason: 'following_org', since: whole.since }
  }

  /** The followed trees. Of more than eight, neighbours by time share the earliest time of their group. */
  function treesOf(follows: Followed): { readonly id: string; readonly since: number }[] {
    const trees = [...follows].flatMap(([id, { scope, since }]) =>
      id !== '' && scope === 'tree' ? [{ id, since }] : [],
    )
    trees.sort((one, other) => one.since - other.since)
    const size = Math.ceil(trees.length / 8)
    return trees.map(({ id, since }, at) => ({ id, since: trees[at - (at % size)]?.since ?? since }))
  }

  const order = ['review_requested', 'mentioned', 'involved', 'following_node', 'following_tree', 'following_org']

  /** The items on each page of that size. */
  function expected(user: User, events: readonly Event[], limit: number): Item[][] {
    let items = new Map<string, Item>()
    const pages = [items]
    for (const event of events) {
      const found = interest(user, event)
      if (!found) continue
      const subject = subjectOf(event)
      if (!items.has(subject) && items.size === limit) {
        items = new Map()
        pages.push(items)
      }
      const item = items.get(subject) ?? { last: event.id, reason: found.reason, count: 0, unread: false, types: [] }
      items.set(subject, item)
      item.count++
      if (order.indexOf(found.reason) < order.indexOf(item.reason)) item.reason = found.reason
      if (!item.types.includes(event.type)) item.types.push(event.type)
      item.unread ||= event.seq > Math.max(user.mark, user.items.get(subject) ?? 0) && event.ms >= found.since
    }
    return pages.map((one) => [...one.values()])
  }

  const seen = (items: readonly Item[]) =>
    items.map(({ last_event, reason, count, unread, types }) => ({ last: last_event.id, reason, count, unread, types }))

  it('is what a filter over the log finds', async () => {
    const property = fc.asyncProperty(fc.array(act, { minLength: 20, maxLength: 40 }), async (acts) => {
      for (const one of acts) await perform(one)
      const events = await log()
      for (const user of users) {
        const { items } = await page(user.person, '', ann.org)
        expect(seen(items)).to.deep.equal(expected(user, events, 200)[0])
        const pages = await allPages(user.person, 3)
        expect(pages.map(seen).filter(({ length }) => length > 0)).to.deep.equal(
          expected(user, events, 3).filter(({ length }) => length > 0),
        )
        const unread = (await page(user.person, '&unread=true', ann.org)).items
        const isNew = (one: Item) => one.unread
        expect(unread.length).to.equal((expected(user, events, 200)[0] ?? []).filter(isNew).length)
      }
    })
    await fc.assert(property, { numRuns: runs(15), endOnFailure: true })
  })
})

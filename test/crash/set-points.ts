/**
 * Operations on change sets whose every step is tried. Each is in a new organisation with a set of four pages: two
 * changes, a creation and a deletion. What the operation leaves is compared with what it found, and with what an
 * undisturbed one leaves.
 */

import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { noOid } from '../../gitstore/repo.ts'
import { flush } from '../../gitstore/transfer/pkt-line.ts'
import { gitIn } from '../support/git.ts'
import { askGit } from '../support/git-requests.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type Client, client, signUp } from '../support/people.ts'
import { readSets } from '../support/sets-reader.ts'
import type { Operation, Place, State, Subject } from './point-operations.ts'

interface Org {
  readonly place: Place
  readonly id: string
  readonly sets: string
  /** Opens sets as Bob, so that the verdicts of Ann count. */
  readonly bob: Client
  /** The pages by title. `Krill` is there after the merge only. */
  readonly pages: Readonly<Record<string, string>>
}

/** Prepares the organisation. Returns the request, and what a repetition of it is answered. */
type Preparation = (org: Org) => Promise<{
  readonly ask: Subject['ask']
  readonly repeated: Subject['repeated']
}>

const theSet = 2
const review = { verdict: 'approve', text: 'Read.' }
const addition = (org: Org, page: string) => ({
  nodes: [
    { id: org.pages[page], text_content: `${page} swim.\n` },
    { title: 'Shrimp', text_content: 'Shrimp are red.\n', parents: [org.pages.Whales] },
  ],
})

const preparations: Readonly<Record<string, Preparation>> = {
  'the opening of a change set': async (org) => {
    const body = { id: randomUUID(), ...contentOf(org) }
    return { ask: (person) => person.post(org.sets, body), repeated: [201] }
  },
  'a review of a change set': async (org) => {
    const { version } = await openSet(org)
    const body = { ...review, expected_version: version }
    return { ask: (person) => person.post(`${org.sets}/${theSet}/reviews`, body), repeated: [201] }
  },
  'the merge of a change set': async (org) => {
    await openSet(org)
    return { ask: (person) => person.post(`${org.sets}/${theSet}/merge`), repeated: [200] }
  },
  'the closing of a change set': async (org) => {
    await openSet(org)
    return { ask: (person) => person.patch(`${org.sets}/${theSet}`, { status: 'closed' }), repeated: [200] }
  },
  'the reopening of a change set': async (org) => {
    await openSet(org)
    await org.bob.patch(`${org.sets}/${theSet}`, { status: 'closed' }).then(expecting(200))
    return { ask: (person) => person.patch(`${org.sets}/${theSet}`, { status: 'open' }), repeated: [200] }
  },
  'an edit of a change set': async (org) => {
    await openSet(org)
    const body = { title: 'Whales and krill', is_draft: true }
    return { ask: (person) => person.patch(`${org.sets}/${theSet}`, body), repeated: [200] }
  },
  'an addition to a change set': async (org) => {
    await openSet(org)
    const body = { add: addition(org, 'Rays') }
    return { ask: (person) => person.patch(`${org.sets}/${theSet}`, body), repeated: [200, 'item_exists'] }
  },
  'a push into a change set': async (org) => {
    await openSet(org)
    const rays = org.pages.Rays ?? ''
    const git = gitIn(org.place, org.id, rays)
    const head = git.commit({ files: { 'content.md': 'Rays swim.\n' }, parents: [git.head()] })
    return { ask: (_, door) => push(org, door, rays, head), repeated: [200, 409] }
  },
  'a removal from a change set': async (org) => {
    const { items } = await openSet(org)
    const remove = items.flatMap(({ act, node_id }: Answer['body']) => (act === 'delete' ? [] : node_id))
    return { ask: (person) => person.patch(`${org.sets}/${theSet}`, { remove }), repeated: [200, 422] }
  },
  'the update of the branches of a change set': async (org) => {
    await openSet(org)
    for (const page of ['Squid', 'Seals']) {
      const changes = [{ action: 'put', path: 'notes.md', content: 'Deep.\n' }]
      const path = `/orgs/${org.id}/nodes/${org.pages[page]}/tree/main/commits`
      await org.place.ann.post(path, { message: 'Note', changes }).then(expecting(201))
    }
    return { ask: (person) => person.post(`${org.sets}/${theSet}/update-branch`), repeated: [200] }
  },
}

/** Pushes a commit that the page has already as the branch of the set. A push that fails is answered as 503. */
async function push({ place, id }: Org, door: { readonly url: string }, page: string, head: string): Promise<Answer> {
  const token = place.ann.session.accessToken
  const command = `${noOid} ${head} refs/heads/sets/${theSet}\0 report-status`
  const pack = gitIn(place, id, page).run(['pack-objects', '--stdout', '-q'])
  const options = { service: 'git-receive-pack', token } as const
  const text = (await askGit(door, { org: id, id: page }, [command, flush, pack], options)).body.toString()
  // The branch exists.
  const isRepeated = text.includes('the ref has moved')
  return { status: text.includes('ok refs') ? 200 : isRepeated ? 409 : 503, body: { text }, headers: {} }
}

/** What each operation leaves when nothing disturbs it. */
const results = new Map<string, Promise<string>>()

export const setOperations: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries(preparations).map(([name, prepare]): [string, Operation] => [
    name,
    async (place) => {
      if (!results.has(name)) results.set(name, resultOf(place, prepare))
      const after = await results.get(name)
      const org = await newOrg(place)
      const { ask, repeated } = await prepare(org)
      const before = JSON.stringify(await factsOf(org, place.ann))
      if (before === after) throw new Error(`${name} changes nothing: ${after}`)
      const state = (person: Client) => stateOf(org, person, before, after ?? '')
      return { id: org.id, ask, state, git: gitIn(place, org.id, 'org'), repeated }
    },
  ]),
)

async function resultOf(place: Place, prepare: Preparation): Promise<string> {
  const org = await newOrg(place)
  const { status, body } = await (await prepare(org)).ask(place.ann, place.living)
  if (status >= 300) throw new Error(`It was answered ${status} ${JSON.stringify(body)}`)
  return JSON.stringify(await factsOf(org, place.ann))
}

const bobs = new WeakMap<Place, Promise<{ readonly email: string; readonly bob: Client }>>()

async function makeBob({ living }: Place) {
  const { user, ...bob } = await signUp(living, 'Bob')
  const { token } = (await bob.post('/auth/tokens', { name: 'Bob', access: 'write' }).then(expecting(201))).body
  return { email: user.email, bob: client(living, token) }
}

async function newOrg(place: Place): Promise<Org> {
  const { ann } = place
  if (!bobs.has(place)) bobs.set(place, makeBob(place))
  const { email, bob } = (await bobs.get(place)) ?? (await makeBob(place))
  const { id } = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body
  await ann.put(`/orgs/${id}/members/${email}`, { role: 'maintainer' }).then(expecting(200))
  const titles = ['Whales', 'Squid', 'Seals', 'Rays']
  const nodes = titles.map((title) => ({ title, text_content: `About ${title}.\n`, tags: ['old'] }))
  const made = (await ann.post(`/orgs/${id}/nodes/batch`, { nodes }).then(expecting(201))).body.nodes
  const pages = Object.fromEntries(titles.map((title, at): [string, string] => [title, made[at].id]))
  const org = { place, id, sets: `/orgs/${id}/change-sets`, bob, pages }
  const other = { title: 'Other', nodes: [{ title: 'Other' }] }
  await bob.post(org.sets, other).then(expecting(201))
  return org
}

/** Two changes, a creation and a deletion. */
const contentOf = ({ pages }: Org) => ({
  title: 'Whales eat krill',
  nodes: [
    { ref: 'krill', title: 'Krill', text_content: 'Krill are small.\n', tags: ['new'], parents: [pages.Whales] },
    { id: pages.Whales, title: 'Blue whales', tags: ['new'], connections: [{ target: 'krill', type: 'eats' }] },
    { id: pages.Squid, text_content: 'Squid are soft.\n', tags: ['new'] },
  ],
  deletions: [{ node_id: pages.Seals }],
})

async function openSet(org: Org): Promise<Answer['body']> {
  return (await org.bob.post(org.sets, contentOf(org)).then(expecting(201))).body.change_set
}

/** What everybody sees of the pages, one answer after the other. */
async function answersOf({ id, pages }: Org, person: Client): Promise<string[]> {
  const answers: unknown[] = []
  for (const page of Object.values(pages)) {
    const { status, body } = await person.get(`/orgs/${id}/nodes/${page}`)
    answers.push([status, body.title, body.text_content, body.tags, body.connections?.length])
  }
  const { nodes } = (await person.get(`/orgs/${id}/nodes?limit=200`).then(expecting(200))).body
  answers.push(nodes.map(({ title }: Answer['body']) => title).sort())
  answers.push((await person.get(`/orgs/${id}/tags`).then(expecting(200))).body)
  return answers.map((answer) => JSON.stringify(answer))
}

/** What people see, and what Git has. Has no ids, so that it is the same in all organisations. */
async function factsOf(org: Org, person: Client) {
  const answers = await answersOf(org, person)
  const { status, body } = await person.get(`${org.sets}/${theSet}`)
  const { change_set: set } = body
  const items = (set?.items ?? []).map(({ act, title, status, approvals, reasons }: Answer['body']) =>
    // The title of a page that is gone is that of its copy in the trash.
    JSON.stringify([act, status === 'gone' || title, status, approvals, reasons]),
  )
  const { sets, broken } = readSets(org.place, org.id)
  const git = sets.map((one) => [
    ...[one.title, one.status],
    ...one.items
      .map(({ act, status, page }) => JSON.stringify([act, status, page === 'deleted' ? 'in the trash' : page]))
      .sort(),
  ])
  const { title, is_draft, merge_reasons } = set ?? {}
  return { answers, set: [status, set?.status, title, is_draft, merge_reasons, ...items.sort()], git, broken }
}

/** After one answer shows the new pages, all do. Recovery leaves all of it or nothing. */
async function stateOf(org: Org, person: Client, before: string, after: string): Promise<State> {
  const [old, fresh]: (readonly string[])[] = [before, after].map((facts) => JSON.parse(facts).answers)
  const answers = await answersOf(org, person)
  const differing = [...answers.keys()].filter((at) => old?.[at] !== fresh?.[at])
  const first = differing.findIndex((at) => answers[at] !== old?.[at])
  if (answers.some((answer, at) => answer !== old?.[at] && answer !== fresh?.[at]))
    return `between: readers see ${answers}`
  if (first >= 0 && differing.slice(first).some((at) => answers[at] !== fresh?.[at]))
    return `between: readers see a part: ${answers}`
  // Takes the lock of the ledger of sets. If a dead process holds it, this finishes or undoes its transaction.
  await person.patch(`${org.sets}/1`, { title: 'Other' }).then(expecting(200))
  const facts = JSON.stringify(await factsOf(org, person))
  if (facts !== before && facts !== after) return `between: ${facts}, which was ${before}, and should be ${after}`
  if (facts === before && first >= 0) return 'between: readers have seen it before it was undone'
  return facts === before ? 'old' : 'new'
}

/** What is left after the sweep of two hours later. The service must not run. */
export async function sweptProblems(dataDir: string): Promise<string[]> {
  const grove = await startGrove({ dataDir, now: () => new Date(Date.now() + 2 * 3_600_000) })
  await grove.settled()
  await grove.close()
  const orgs = readdirSync(dataDir).filter((name) => /^[0-9a-f-]{36}$/.test(name))
  return orgs.flatMap((id) => {
    const { sets, broken, orphans } = readSets({ dataDir }, id)
    const waiting = sets.flatMap(({ items }) => items.filter(({ page }) => page === 'deleted'))
    return [
      ...broken,
      ...orphans.map((page) => `The proposed page ${page} of no set is left after the sweep`),
      ...waiting.map(({ node_id }) => `The deleted page ${node_id} is not in the trash after the sweep`),
    ]
  })
}
